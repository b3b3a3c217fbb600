/** The text of a backend's error body. Clients send `Accept-Encoding`, so backends compress their errors as well. */
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';

type Decompress = (body: Buffer, options: { maxOutputLength: number }) => Buffer;

/** By content coding (RFC 9110 section 8.4.1). */
const DECOMPRESS: Readonly<Record<string, Decompress>> = {
  identity: (body) => body,
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};

const CHARSET = /;\s*charset\s*=\s*"?([\w.:-]+)"?/i;

/**
 * The body as text; undefined when it cannot be decoded, or is larger than `maxBytes` once it is.
 * @param contentType whose `charset` it is written in; UTF-8 unless said.
 */
export function errorText(
  body: Buffer,
  contentEncoding: string | undefined,
  contentType: string | undefined,
  maxBytes: number,
): string | undefined {
  const coding = String(contentEncoding ?? 'identity').toLowerCase();
  const decompress = Object.hasOwn(DECOMPRESS, coding) ? DECOMPRESS[coding] : undefined;
  try {
    const bytes = decompress?.(body, { maxOutputLength: maxBytes });
    return bytes === undefined ? undefined : new TextDecoder(CHARSET.exec(contentType ?? '')?.[1]).decode(bytes);
  } catch {
    return undefined;
  }
}
