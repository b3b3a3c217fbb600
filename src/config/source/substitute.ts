/**
 * Replaces `${NAME}` and `${NAME:-default}` in the values of `gateway.yaml`. Unset variables and malformed references
 * become problems.
 */
import type { ConfigProblem, DocumentPath } from '../model/problem.js';
import { formatPath } from '../model/problem.js';
import { readVariable, VariableFileError, type Variables } from '../model/variables.js';
import type { SourceDocument } from './source-document.js';

/** Matches a reference. The last group is empty if the closing brace is missing. */
const REFERENCE = /\$(\$)?\{([^}]*)(\}?)/g;
const REFERENCE_BODY = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
const FORMS_HINT = 'write ${NAME} or ${NAME:-default}; $${ is a plain ${';

const FILE_HINT = 'the file has the value of the variable; set the variable or its file, not both';

/** Result of `substituteVariables`. `paths` contains the formatted paths of all values that contained references. */
export interface Substitution {
  readonly problems: readonly ConfigProblem[];
  readonly paths: ReadonlySet<string>;
}

/**
 * Replaces every reference in string values. Modifies the document. As in a shell, the default after `:-` also replaces
 * an empty value. `$${` is a literal `${`. A variable without a value and without a default is a problem. A variable
 * file that cannot be read is a problem, too.
 */
export function substituteVariables(source: SourceDocument, variables: Variables): Substitution {
  const problems: ConfigProblem[] = [];
  const paths = new Set<string>();
  source.visitScalars((scalar, path) => {
    if (typeof scalar.value !== 'string' || !scalar.value.includes('${')) return;
    scalar.value = scalar.value.replace(REFERENCE, (reference: string, escaped, body: string, close: string) => {
      if (escaped !== undefined) return reference.slice(1);
      const fault = formFault(reference, body, close);
      if (fault !== undefined) problems.push(source.problem(path, fault, FORMS_HINT));
      // Include values that could not be determined, because messages must refer to the variable instead of the value.
      paths.add(formatPath(path));
      if (fault !== undefined) return '';
      try {
        return valueOf(body, variables, (name) => problems.push(unsetProblem(source, path, name)));
      } catch (error) {
        if (!(error instanceof VariableFileError)) throw error;
        problems.push(source.problem(path, error.message, FILE_HINT));
        return '';
      }
    });
  });
  return { problems, paths };
}

/** Returns why a reference is malformed, or undefined if it is valid. */
function formFault(reference: string, body: string, close: string): string | undefined {
  if (close === '') return `\`${shortened(reference)}\` is never closed`;
  if (body.includes('${')) return `\`${shortened(reference)}\` has a reference within a reference`;
  return REFERENCE_BODY.test(body) ? undefined : `\`${shortened(reference)}\` is not a reference`;
}

function valueOf(body: string, variables: Variables, onMissing: (name: string) => void): string {
  const [, name = '', fallback] = REFERENCE_BODY.exec(body) ?? [];
  const value = readVariable(variables, name);
  if (value !== undefined && (value !== '' || fallback === undefined)) return value;
  if (fallback === undefined) onMissing(name);
  return fallback ?? '';
}

function unsetProblem(source: SourceDocument, path: DocumentPath, name: string): ConfigProblem {
  return source.problem(
    path,
    `the environment variable ${name} is not set`,
    `set it, or give a default: \${${name}:-…}`,
  );
}

function shortened(text: string): string {
  const line = text.split('\n', 1)[0] ?? '';
  return line.length > 40 ? `${line.slice(0, 40)}…` : line;
}

/**
 * Converts a text such as `8080` or `true` to a number or boolean. Returns other values unchanged. Values from
 * variables are always texts, but some settings need another type.
 */
export function coerceText(text: unknown): unknown {
  if (typeof text !== 'string') return text;
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  return text === 'true' ? true : text === 'false' ? false : text;
}
