/**
 * Reads the built panel into memory: the files with their compressed variants, and the HTML page that every path of the
 * panel shows.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';

/** Compressed variants that the build writes beside a file, in order of preference. */
const CODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

export type Coding = (typeof CODINGS)[number][0];

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** PanelFile is a file of the panel, ready to send. */
export interface PanelFile {
  readonly bytes: Buffer;
  /** Compressed variants that are smaller than `bytes`. */
  readonly coded: ReadonlyMap<Coding, Buffer>;
  readonly contentType: string;
  readonly etag: string;
  /** Whether the file name contains a hash of the content, so that browsers can cache the file forever. */
  readonly isImmutable: boolean;
}

export interface PanelFiles {
  /** Files by URL path, such as `/assets/index-….js`. */
  readonly files: ReadonlyMap<string, PanelFile>;
  /** HTML of the page before and after the nonce. */
  readonly page: readonly [before: string, after: string];
}

/** Placeholder of the nonce in `index.html`. */
const NONCE = '__NONCE__';

/**
 * Reads the panel from a build folder. Returns null if the folder has no `index.html`. Throws the error of the file
 * system if a file cannot be read.
 */
export function readPanelFiles(folder: string): PanelFiles | null {
  const page = join(folder, 'index.html');
  if (!existsSync(page)) return null;
  const [before = '', after = ''] = readFileSync(page, 'utf8').split(NONCE);
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const served = names.filter((name) => CONTENT_TYPES[extname(name)] !== undefined);
  return {
    files: new Map(served.map((name) => [`/${name.split(sep).join('/')}`, readPanelFile(folder, join(folder, name))])),
    page: [before, after],
  };
}

function readPanelFile(folder: string, path: string): PanelFile {
  const bytes = readFileSync(path);
  const coded = CODINGS.flatMap(([coding, extension]) =>
    existsSync(path + extension) ? [[coding, readFileSync(path + extension)] as const] : [],
  );
  return {
    bytes,
    // Skip variants that are not smaller than the file itself.
    coded: new Map(coded.filter(([, each]) => each.length < bytes.length)),
    contentType: CONTENT_TYPES[extname(path)] ?? '',
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    isImmutable: relative(folder, path).startsWith(`assets${sep}`),
  };
}
