/**
 * Decodes a backend's response body into text, for error responses and events. Backends also compress error bodies,
 * because clients send `Accept-Encoding`.
 */
import { brotliDecompressSync, constants, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';

/** Base-2 logarithm of the largest zstd window: 8 MiB (RFC 9659). Node's default allows a frame up to 128 MiB. */
const LARGEST_ZSTD_WINDOW_LOG = 23;

type Decompress = (body: Buffer, options: { maxOutputLength: number }) => Buffer;

/** Decoders by content coding (RFC 9110 section 8.4.1). */
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
 * Returns the body as text, or undefined if the body cannot be decoded.
 * @param contentType the `Content-Type`, for its `charset`. The default charset is UTF-8.
 * @param maxBytes maximum size after decompression. For a larger body, the result is undefined. Uncompressed bodies
 *   have no limit.
 * @param isStrict whether invalid byte sequences make the result undefined. Otherwise each becomes U+FFFD.
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
