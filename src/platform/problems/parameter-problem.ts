/** Checks query parameters, and creates the error that names each wrong one. */
import { Problem, type FieldError } from './errors.js';

/** Limits that keep the response small. */
const MAX_ERRORS = 50;
const LONGEST_DETAIL = 1_000;
const LONGEST_NAME = 100;

/**
 * ParameterError describes a wrong parameter. `detail` completes a sentence that begins with the parameter's name, such
 * as `must be …`.
 */
export type ParameterError = FieldError & { readonly parameter: string };

/** Returns the problem `invalid_parameter` (400) for wrong parameters of a query. */
export function invalidParameters(all: readonly ParameterError[]): Problem {
  const errors = all.slice(0, MAX_ERRORS);
  const sentence = errors.map(({ parameter, detail }) => `${parameter} ${detail}`).join('; ');
  return new Problem('invalid_parameter', { detail: `The query is not valid: ${withFullStop(sentence)}`, errors });
}

function withFullStop(sentence: string): string {
  if (sentence.length > LONGEST_DETAIL) return `${sentence.slice(0, LONGEST_DETAIL)}…`;
  return sentence.endsWith('?') ? sentence : `${sentence}.`;
}

/**
 * Returns the parameters of a query by name.
 * @param known names that the query may have
 * @param errors receives an error for each unknown or repeated name
 */
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
  const simplified = (text: string): string => text.replaceAll(/[_-]/g, '').toLowerCase();
  const similar = known.find((each) => simplified(each) === simplified(name));
  return similar === undefined ? 'is not known here, leave it out' : `is not known here, did you mean ${similar}?`;
}
