/** The built panel, read once: bytes and compressed bytes by path, and the page that all its addresses show. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';

/** Codings that the build made beside a file, in the order in which they are preferred. */
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

/** A file of the panel, ready to be sent. */
export interface PanelFile {
  readonly bytes: Buffer;
  readonly coded: ReadonlyMap<Coding, Buffer>;
  readonly contentType: string;
  readonly etag: string;
  /** Whether the hash of its content is in its name, so that it never changes. */
  readonly isImmutable: boolean;
}

export interface PanelFiles {
  /** By path: `/assets/index-….js`. */
  readonly files: ReadonlyMap<string, PanelFile>;
  /** The page around the place of the nonce. */
  readonly page: readonly [before: string, after: string];
}

const NONCE = '__NONCE__';

/** Reads the panel that was built into this folder; null where none was. */
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
    // What a coding makes longer is sent as it is.
    coded: new Map(coded.filter(([, each]) => each.length < bytes.length)),
    contentType: CONTENT_TYPES[extname(path)] ?? '',
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    isImmutable: relative(folder, path).startsWith(`assets${sep}`),
  };
}
