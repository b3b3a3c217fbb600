/**
 * Checks the certificates, private keys and CA files that the configuration names. Expired certificates cause warnings.
 */
import { X509Certificate } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import type { Clock } from '../../platform/clock.js';
import { isObject } from '../openapi/openapi-traversal.js';
import type { ConfigProblem, DocumentPath } from '../model/problem.js';
import { valueAt } from './schema-problems.js';
import type { SourceDocument } from '../source/source-document.js';
import {
  isCertificate,
  readContents,
  TLS_FILES,
  tlsFaults,
  type TlsContents,
  type TlsFault,
  type TlsFile,
} from '../source/tls-files.js';

/** Problems and warnings about the files, located at the settings that name the files. */
export interface FileFindings {
  readonly problems: ConfigProblem[];
  readonly warnings: ConfigProblem[];
}

/**
 * Reads and checks the files of `gateway.tls`, `admin.tls` and `services.<name>.tls`.
 * @param value unvalidated `gateway.yaml`
 */
export async function checkFiles(source: SourceDocument, value: unknown, clock: Clock): Promise<FileFindings> {
  const services = valueAt(value, ['services']);
  const names = isObject(services) ? Object.keys(services) : [];
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  const listeners = [
    ['gateway', 'tls'],
    ['admin', 'tls'],
  ];
  for (const path of [...listeners, ...names.map((name) => ['services', name, 'tls'])]) {
    const { files, problems: found } = await readFiles(source, value, path);
    problems.push(...found);
    const report = ({ key, message, hint }: TlsFault): ConfigProblem =>
      source.problem(key === undefined ? path : [...path, key], message, hint);
    if (found.length === 0) problems.push(...tlsFaults(files).map(report));
    warnings.push(...validityWarnings(files, clock.now()).map(report));
  }
  return { problems, warnings };
}

async function readFiles(
  source: SourceDocument,
  value: unknown,
  path: DocumentPath,
): Promise<{ files: TlsContents; problems: ConfigProblem[] }> {
  const names = new Map<TlsFile, string>();
  for (const key of Object.keys(TLS_FILES) as TlsFile[]) {
    const name = valueAt(value, [...path, key]);
    if (typeof name === 'string' && name !== '') names.set(key, name);
  }
  const folder = dirname(source.file);
  const paths = Object.fromEntries([...names].map(([key, name]) => [key, resolve(folder, name)]));
  const { contents, unread } = await readContents(paths);
  const problems = unread.map(({ key, fault: { message, hint } }) =>
    source.problem([...path, key], `the ${TLS_FILES[key]} ${names.get(key)} cannot be read: ${message}`, hint),
  );
  return { files: contents, problems };
}

/**
 * Warns about certificates that have expired or are not valid yet. The gateway still starts, but clients and backends
 * reject such certificates. Checks only the first certificate of each file.
 */
function validityWarnings({ cert, ca }: TlsContents, nowMs: number): TlsFault[] {
  return (
    [
      ['cert', cert],
      ['ca', ca],
    ] as const
  ).flatMap(([key, bytes]): TlsFault[] => {
    if (bytes === undefined || !isCertificate(bytes.toString('latin1'))) return [];
    const { validFrom, validTo } = new X509Certificate(bytes);
    const hint = 'the files are read again when they change';
    if (Date.parse(validTo) <= nowMs) return [{ key, message: `the ${TLS_FILES[key]} expired on ${validTo}`, hint }];
    if (Date.parse(validFrom) <= nowMs) return [];
    return [{ key, message: `the ${TLS_FILES[key]} is not valid before ${validFrom}`, hint }];
  });
}
