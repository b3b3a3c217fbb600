/** The certificates and keys that the configuration names: whether they are there, and what they should be. */
import { X509Certificate } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import type { Clock } from '../../platform/clock.js';
import { isObject } from '../openapi/openapi-traversal.js';
import type { ConfigProblem, DocumentPath } from '../model/problem.js';
import { readBytes } from '../source/read-file.js';
import { valueAt } from './schema-problems.js';
import type { SourceDocument } from '../source/source-document.js';
import {
  isCertificate,
  LARGEST_TLS_FILE_BYTES,
  TLS_FILES,
  tlsFaults,
  type TlsContents,
  type TlsFault,
  type TlsFile,
} from '../source/tls-files.js';

/** What was found about the files. */
export interface FileFindings {
  readonly problems: ConfigProblem[];
  readonly warnings: ConfigProblem[];
}

/** The files under `gateway.tls` and `services.<name>.tls`. */
export async function checkFiles(source: SourceDocument, value: unknown, clock: Clock): Promise<FileFindings> {
  const services = valueAt(value, ['services']);
  const names = isObject(services) ? Object.keys(services) : [];
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  for (const place of [['gateway', 'tls'], ...names.map((name) => ['services', name, 'tls'])]) {
    const { files, problems: found } = await readFiles(source, value, place);
    problems.push(...found);
    const report = ({ key, message, hint }: TlsFault): ConfigProblem =>
      source.problem(key === undefined ? place : [...place, key], message, hint);
    if (found.length === 0) problems.push(...tlsFaults(files).map(report));
    warnings.push(...datesOf(files, clock.now()).map(report));
  }
  return { problems, warnings };
}

async function readFiles(
  source: SourceDocument,
  value: unknown,
  place: DocumentPath,
): Promise<{ files: TlsContents; problems: ConfigProblem[] }> {
  const files: { -readonly [File in TlsFile]?: Buffer } = {};
  const problems: ConfigProblem[] = [];
  for (const [key, what] of Object.entries(TLS_FILES) as [TlsFile, string][]) {
    const path = [...place, key];
    const name = valueAt(value, path);
    if (typeof name !== 'string' || name === '') continue;
    const read = await readBytes(resolve(dirname(source.file), name), LARGEST_TLS_FILE_BYTES);
    if ('bytes' in read) files[key] = read.bytes;
    else
      problems.push(source.problem(path, `the ${what} ${name} cannot be read: ${read.fault.message}`, read.fault.hint));
  }
  return { files, problems };
}

/** Clients and backends refuse a certificate whose time is over; a gateway that starts says so, and starts. */
function datesOf({ cert, ca }: TlsContents, nowMs: number): TlsFault[] {
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
