/** The certificates and keys that the configuration names: whether they are there, and what they should be. */
import { X509Certificate } from 'node:crypto';
import { access, constants, readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { isObject } from './openapi-traversal.js';
import type { ConfigProblem } from './problem.js';
import { valueAt } from './schema-problems.js';
import type { SourceDocument } from './source-document.js';

const TLS_FILES = { ca: 'file of authorities', cert: 'certificate', key: 'private key' } as const;

/** Problems of the files under `gateway.tls` and `services.<name>.tls`. */
export async function fileProblems(source: SourceDocument, value: unknown): Promise<ConfigProblem[]> {
  const services = valueAt(value, ['services']);
  const names = isObject(services) ? Object.keys(services) : [];
  const problems: ConfigProblem[] = [];
  for (const place of [['gateway', 'tls'], ...names.map((name) => ['services', name, 'tls'])]) {
    const missing = await missingFiles(source, value, place);
    problems.push(...missing);
    if (missing.length === 0) problems.push(...(await unusableFiles(source, value, place)));
  }
  return problems;
}

/** Whether a file can be read. */
export async function isReadable(file: string): Promise<boolean> {
  return access(file, constants.R_OK).then(
    () => true,
    () => false,
  );
}

async function missingFiles(source: SourceDocument, value: unknown, place: string[]): Promise<ConfigProblem[]> {
  const problems: ConfigProblem[] = [];
  for (const [key, what] of Object.entries(TLS_FILES)) {
    const path = [...place, key];
    const name = valueAt(value, path);
    if (typeof name !== 'string') continue;
    const file = resolve(dirname(source.file), name);
    if (await isReadable(file)) continue;
    problems.push(source.problem(path, `the ${what} ${name} cannot be read`, `looked for ${file}`));
  }
  return problems;
}

async function unusableFiles(source: SourceDocument, value: unknown, place: string[]): Promise<ConfigProblem[]> {
  const contents: Record<string, Buffer> = {};
  for (const key of Object.keys(TLS_FILES)) {
    const name = valueAt(value, [...place, key]);
    if (typeof name === 'string') contents[key] = await readFile(resolve(dirname(source.file), name));
  }
  try {
    createSecureContext(contents);
    if (contents['ca'] !== undefined) new X509Certificate(contents['ca']);
    return [];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [source.problem(place, `the files cannot be used: ${reason}`, 'they are PEM; cert and key must be a pair')];
  }
}
