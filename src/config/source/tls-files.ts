/** Reads and validates certificates, private keys and CA files (PEM). */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { readBytes, type FileFault } from './read-file.js';

export const TLS_FILES = { ca: 'file of authorities', cert: 'certificate', key: 'private key' } as const;
export type TlsFile = keyof typeof TLS_FILES;
/** Maximum size of a file in bytes. The CA bundle of an operating system has about 0.25 MB. */
const MAX_TLS_FILE_BYTES = 4 * 1_024 * 1_024;

/** Absolute paths of the files. Files that are not configured are undefined. */
export type TlsPaths = { readonly [File in TlsFile]?: string | undefined };
/** PEM contents of the files. Files that are not configured are undefined. */
export type TlsContents = { readonly [File in TlsFile]?: Buffer };

/** Fault of one file. Without `key`, the fault concerns all files together. */
export interface TlsFault extends FileFault {
  readonly key?: TlsFile;
}

/** TlsFilesError reports unusable files. Its message contains the path, the fault and advice for each file. */
export class TlsFilesError extends Error {
  constructor(
    /** Absolute paths of the affected files. */
    readonly files: readonly string[],
    message: string,
  ) {
    super(message);
  }
}

/** Returns the log fields for TLS files that were rejected with an error. */
export function tlsRefusal(error: unknown, paths: TlsPaths): { files: readonly string[]; problems: string } {
  if (error instanceof TlsFilesError) return { files: error.files, problems: error.message };
  return { files: namesOf(paths), problems: error instanceof Error ? error.message : String(error) };
}

/** Returns the paths that are set. */
export function namesOf(paths: TlsPaths): string[] {
  return Object.values(paths).filter((file) => file !== undefined);
}

/** Reads the files. Returns the contents of readable files, and a fault for each other file. */
export async function readContents(
  paths: TlsPaths,
): Promise<{ readonly contents: TlsContents; readonly unread: readonly { key: TlsFile; fault: FileFault }[] }> {
  const contents: { -readonly [File in TlsFile]?: Buffer } = {};
  const unread: { key: TlsFile; fault: FileFault }[] = [];
  for (const key of Object.keys(TLS_FILES) as TlsFile[]) {
    const file = paths[key];
    if (file === undefined) continue;
    const read = await readBytes(file, MAX_TLS_FILE_BYTES);
    if ('bytes' in read) contents[key] = read.bytes;
    else unread.push({ key, fault: read.fault });
  }
  return { contents, unread };
}

/**
 * Reads and validates the files. Rejects with `TlsFilesError` if a file cannot be read or has the wrong content. Also
 * rejects if certificate and key do not match.
 */
export async function readTlsFiles(paths: TlsPaths): Promise<TlsContents> {
  const { contents, unread } = await readContents(paths);
  if (unread.length === 0) return usableTlsFiles(paths, contents);
  const faults = unread.map(({ key, fault: { message, hint } }) => ({
    key,
    message: `the ${TLS_FILES[key]} cannot be read: ${message}`,
    hint,
  }));
  throw filesError(paths, faults);
}

/**
 * Returns the contents if they are valid.
 * @throws TlsFilesError if a file has the wrong content, or if certificate and key do not match
 */
export function usableTlsFiles(paths: TlsPaths, contents: TlsContents): TlsContents {
  try {
    createSecureContext(contents);
    // `createSecureContext` silently ignores an invalid CA file.
    if (contents.ca !== undefined) new X509Certificate(contents.ca);
    return contents;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const faults = tlsFaults(contents);
    throw filesError(paths, faults.length > 0 ? faults : [{ message, hint: 'the files must be PEM' }]);
  }
}

function filesError(paths: TlsPaths, faults: readonly TlsFault[]): TlsFilesError {
  const filesOf = ({ key }: TlsFault): string[] => namesOf(key === undefined ? paths : { [key]: paths[key] });
  const messages = faults.map((fault) => `${filesOf(fault).join(', ')}: ${fault.message}\n  → ${fault.hint}`);
  return new TlsFilesError([...new Set(faults.flatMap(filesOf))], messages.join('\n'));
}

/**
 * Returns the faults of the files. Messages are phrases that follow the name of the file. Validating the CA bundle of
 * an operating system takes some milliseconds.
 */
export function tlsFaults(files: TlsContents): TlsFault[] {
  const { ca, cert, key } = files;
  const faults = [certificateFault('ca', ca), certificateFault('cert', cert), keyFault(key)].filter(
    (fault) => fault !== undefined,
  );
  if (faults.length > 0) return faults;
  if (cert !== undefined && key !== undefined && !new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    return [
      {
        key: 'key',
        message: 'the private key does not belong to the certificate',
        hint: 'use the key that the certificate was made with',
      },
    ];
  }
  try {
    createSecureContext(files);
    return [];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [
      { message: `the files cannot be used: ${reason}`, hint: 'the files must be PEM; cert and key must be a pair' },
    ];
  }
}

function certificateFault(key: 'ca' | 'cert', bytes: Buffer | undefined): TlsFault | undefined {
  if (bytes === undefined) return undefined;
  const blocks = bytes.toString('latin1').match(/-----BEGIN [A-Z0-9 ]*CERTIFICATE-----[^-]*-----END [^-]*-----/g);
  if (blocks !== null && blocks.every(isCertificate)) return undefined;
  const isDer = bytes[0] === 0x30 && bytes[1] === 0x82;
  const hint = isDer
    ? 'the file is DER; convert it with openssl x509 -inform der'
    : 'the file must be PEM and begin with -----BEGIN CERTIFICATE-----';
  return { key, message: `the ${TLS_FILES[key]} cannot be used: it is no certificate`, hint };
}

/** Reports whether a PEM text starts with a valid certificate. */
export function isCertificate(pem: string): boolean {
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
      hint: 'the file must be PEM and begin with -----BEGIN PRIVATE KEY-----',
    };
  }
}
