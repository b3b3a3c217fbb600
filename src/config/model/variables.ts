/** Reads environment variables, and the files that variables with the suffix `_FILE` name. */
import { readFileSync } from 'node:fs';

/** Environment variables as the operating system provides them. */
export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * VariableFileError is thrown if a `_FILE` variable names an unusable file, or if its plain variable is also set. The
 * message never contains the value.
 */
export class VariableFileError extends Error {
  override readonly name = 'VariableFileError';
}

/**
 * Returns the value of a variable, or undefined if it is unset. If `NAME_FILE` is set instead, returns the content of
 * that file without trailing line breaks. Docker and Kubernetes provide secrets in such files. An empty `NAME_FILE`
 * counts as unset.
 * @throws VariableFileError if both are set, or if the file is empty or cannot be read
 */
export function readVariable(variables: Variables, name: string): string | undefined {
  const own = (key: string): string | undefined => (Object.hasOwn(variables, key) ? variables[key] : undefined);
  const value = own(name);
  const file = own(`${name}_FILE`)?.trim() ?? '';
  if (file === '') return value;
  if (value !== undefined && value.trim() !== '') throw new VariableFileError(`${name} and ${name}_FILE are both set`);
  const text = readText(`${name}_FILE`, file).replace(/[\r\n]+$/, '');
  if (text.trim() === '') throw new VariableFileError(`${name}_FILE: ${file} is empty`);
  return text;
}

function readText(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new VariableFileError(`${name}: ${file} cannot be read (${code})`);
  }
}
