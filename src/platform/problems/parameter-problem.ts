/** The error for wrong query parameters: one code, and a text that names each of them. */
import { Problem, type FieldError } from './errors.js';

/** Limits the size of the response. */
const MOST_ERRORS = 50;
const LONGEST_DETAIL = 1_000;
const LONGEST_NAME = 100;

/** One wrong parameter; `detail` follows its name in a sentence: `must be …`. */
export type ParameterError = FieldError & { readonly parameter: string };

/** The 400 for wrong parameters of a query. */
export function invalidParameters(all: readonly ParameterError[]): Problem {
  const errors = all.slice(0, MOST_ERRORS);
  const sentence = errors.map(({ parameter, detail }) => `${parameter} ${detail}`).join('; ');
  return new Problem('invalid_parameter', { detail: `The query is not valid: ${ended(sentence)}`, errors });
}

function ended(sentence: string): string {
  if (sentence.length > LONGEST_DETAIL) return `${sentence.slice(0, LONGEST_DETAIL)}…`;
  return sentence.endsWith('?') ? sentence : `${sentence}.`;
}

/** The parameters of a query by name; a name that is not known, or stands there twice, is put into `errors`. */
export function parametersOf<Name extends string>(
  query: string,
  known: readonly Name[],
  errors: ParameterError[],
): Partial<Record<Name, string>> {
  const found = new Map<string, string>();
  const wrong = new Set<string>();
  for (const [name, value] of new URLSearchParams(query)) {
    const isKnown = known.some((each) => each === name);
    if (isKnown && !found.has(name)) found.set(name, value);
    else if (!wrong.has(name)) {
      wrong.add(name);
      errors.push({
        parameter: name.slice(0, LONGEST_NAME),
        detail: isKnown ? 'must be given only once' : unknownName(name, known),
      });
    }
  }
  return Object.fromEntries(found) as Partial<Record<Name, string>>;
}

function unknownName(name: string, known: readonly string[]): string {
  const bare = (text: string): string => text.replaceAll(/[_-]/g, '').toLowerCase();
  const meant = known.find((each) => bare(each) === bare(name));
  return meant === undefined ? 'is not known here, leave it out' : `is not known here, did you mean ${meant}?`;
}
