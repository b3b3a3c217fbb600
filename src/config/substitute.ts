/** `${NAME}` and `${NAME:-default}` in the values of `gateway.yaml`. */
import type { Variables } from './environment.js';
import type { ConfigProblem } from './problem.js';
import { formatPath } from './problem.js';
import type { SourceDocument } from './source-document.js';

const REFERENCE = /\$(\$)?\{([^}]*)\}/g;
const REFERENCE_BODY = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/** What was put in: the faults, and the paths of the values that came from a variable. */
export interface Substitution {
  readonly problems: readonly ConfigProblem[];
  readonly paths: ReadonlySet<string>;
}

/**
 * Replaces every reference in string values. As in a shell, `:-` also stands in for an empty variable; `$${` is a literal
 * `${`. A variable that is not set and has no default is a problem that names it.
 */
export function substituteVariables(source: SourceDocument, variables: Variables): Substitution {
  const problems: ConfigProblem[] = [];
  const paths = new Set<string>();
  source.replaceStrings((text, path) =>
    text.replace(REFERENCE, (reference: string, escaped: string | undefined, body: string) => {
      if (escaped !== undefined) return reference.slice(1);
      const [, name, fallback] = REFERENCE_BODY.exec(body) ?? [];
      if (name === undefined) {
        problems.push(source.problem(path, `\`${reference}\` is not a reference`, 'write ${NAME} or ${NAME:-default}'));
        return reference;
      }
      paths.add(formatPath(path));
      const value = variables[name];
      if (value !== undefined && (value !== '' || fallback === undefined)) return value;
      if (fallback !== undefined) return fallback;
      problems.push(
        source.problem(
          path,
          `the environment variable ${name} is not set`,
          `set it, or give a default: \${${name}:-…}`,
        ),
      );
      return reference;
    }),
  );
  return { problems, paths };
}

/** `8080` and `true` as number and boolean, anything else unchanged: a variable is always a text, a setting may not be. */
export function coerceText(text: unknown): unknown {
  if (typeof text !== 'string') return text;
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  return text === 'true' ? true : text === 'false' ? false : text;
}
