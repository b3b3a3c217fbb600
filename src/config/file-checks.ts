/** The certificates and keys that the configuration names: whether they are there, and what they should be. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../clock.js';
import { isObject } from './openapi-traversal.js';
import type { ConfigProblem, DocumentPath } from './problem.js';
import { readBytes, type FileFault } from './read-file.js';
import { valueAt } from './schema-problems.js';
import type { SourceDocument } from './source-document.js';

const TLS_FILES = { ca: 'file of authorities', cert: 'certificate', key: 'private key' } as const;
type TlsFile = keyof typeof TLS_FILES;
/** The authorities of a whole system have a quarter of a megabyte. */
const LARGEST_FILE_BYTES = 4 * 1_024 * 1_024;
const PAIR_HINT = 'name the key that the certificate was made with';

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
    if (found.length === 0) problems.push(...faultsOf(files).map(report));
    warnings.push(...datesOf(files, clock.now()).map(report));
  }
  return { problems, warnings };
}

type TlsContents = Partial<Record<TlsFile, Buffer>>;

/** About one of the files, or about all of them. */
interface TlsFault extends FileFault {
  readonly key?: TlsFile;
}

async function readFiles(
  source: SourceDocument,
  value: unknown,
  place: DocumentPath,
): Promise<{ files: TlsContents; problems: ConfigProblem[] }> {
  const files: TlsContents = {};
  const problems: ConfigProblem[] = [];
  for (const [key, what] of Object.entries(TLS_FILES) as [TlsFile, string][]) {
    const path = [...place, key];
    const name = valueAt(value, path);
    if (typeof name !== 'string' || name === '') continue;
    const read = await readBytes(resolve(dirname(source.file), name), LARGEST_FILE_BYTES);
    if ('bytes' in read) files[key] = read.bytes;
    else
      problems.push(source.problem(path, `the ${what} ${name} cannot be read: ${read.fault.message}`, read.fault.hint));
  }
  return { files, problems };
}

function faultsOf(files: TlsContents): TlsFault[] {
  const { ca, cert, key } = files;
  const faults = [certificateFault('ca', ca), certificateFault('cert', cert), keyFault(key)].filter(
    (fault) => fault !== undefined,
  );
  if (faults.length > 0) return faults;
  if (cert !== undefined && key !== undefined && !new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    return [{ key: 'key', message: 'the private key does not belong to the certificate', hint: PAIR_HINT }];
  }
  try {
    createSecureContext(files);
    return [];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [{ message: `the files cannot be used: ${reason}`, hint: 'they are PEM; cert and key must be a pair' }];
  }
}

function certificateFault(key: 'ca' | 'cert', bytes: Buffer | undefined): TlsFault | undefined {
  if (bytes === undefined) return undefined;
  const blocks = bytes.toString('latin1').match(/-----BEGIN [A-Z0-9 ]*CERTIFICATE-----[^-]*-----END [^-]*-----/g);
  if (blocks !== null && blocks.every(isCertificate)) return undefined;
  const isDer = bytes[0] === 0x30 && bytes[1] === 0x82;
  const hint = isDer
    ? 'it is DER: make PEM of it with openssl x509 -inform der'
    : 'it is PEM, and begins with -----BEGIN CERTIFICATE-----';
  return { key, message: `the ${TLS_FILES[key]} cannot be used: it is no certificate`, hint };
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}

function keyFault(bytes: Buffer | undefined): TlsFault | undefined {
  if (bytes === undefined) return undefined;
  if (/BEGIN ENCRYPTED|Proc-Type: 4,ENCRYPTED/.test(bytes.toString('latin1'))) {
    const hint = 'store it without: openssl pkey -in encrypted.key -out plain.key';
    return { key: 'key', message: 'the private key is protected by a passphrase', hint };
  }
  try {
    createPrivateKey(bytes);
    return undefined;
  } catch {
    return {
      key: 'key',
      message: 'the private key cannot be used: it is no key',
      hint: 'it is PEM, and begins with -----BEGIN PRIVATE KEY-----',
    };
  }
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
