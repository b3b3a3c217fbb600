/** The text of a backend's error body. Clients send `Accept-Encoding`, so backends compress their errors as well. */
import { brotliDecompressSync, constants, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';

/** 8 MiB, as RFC 9659 has it: a decoder allocates the window that a frame asks for, and by default up to 128 MiB. */
const LARGEST_ZSTD_WINDOW_LOG = 23;

type Decompress = (body: Buffer, options: { maxOutputLength: number }) => Buffer;

/** By content coding (RFC 9110 section 8.4.1). */
const DECOMPRESS: Readonly<Record<string, Decompress>> = {
  identity: (body) => body,
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: (body, options) =>
    zstdDecompressSync(body, { ...options, params: { [constants.ZSTD_d_windowLogMax]: LARGEST_ZSTD_WINDOW_LOG } }),
};

const CHARSET = /;\s*charset\s*=\s*"?([\w.:-]+)"?/i;

/**
 * The body as text; undefined when it cannot be decoded, or is larger than `maxBytes` once it is.
 * @param contentType whose `charset` it is written in; UTF-8 unless said.
 * @param isStrict whether bytes that are none of the charset make it undefined, instead of U+FFFD.
 */
export function errorText(
  body: Buffer,
  contentEncoding: string | undefined,
  contentType: string | undefined,
  maxBytes: number,
  isStrict = false,
): string | undefined {
  const coding = String(contentEncoding ?? 'identity').toLowerCase();
  const decompress = Object.hasOwn(DECOMPRESS, coding) ? DECOMPRESS[coding] : undefined;
  try {
    const bytes = decompress?.(body, { maxOutputLength: maxBytes });
    const charset = CHARSET.exec(contentType ?? '')?.[1];
    return bytes === undefined ? undefined : new TextDecoder(charset, { fatal: isStrict }).decode(bytes);
  } catch {
    return undefined;
  }
}
