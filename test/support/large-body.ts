/** Bodies that are too large to be held anywhere, and their sums. */
import { createHash, randomBytes } from 'node:crypto';

export const MEBIBYTE = 1024 * 1024;

const CHUNK = randomBytes(MEBIBYTE);

/** So many MiB, of which no two are alike. The same bytes each time. */
export function* largeBody(mebibytes: number): Generator<Buffer> {
  for (let index = 0; index < mebibytes; index++) {
    const chunk = Buffer.from(CHUNK);
    chunk.writeUInt32BE(index);
    yield chunk;
  }
}

export function sha256Of(chunks: Iterable<Buffer>): string {
  const hash = createHash('sha256');
  for (const chunk of chunks) hash.update(chunk);
  return hash.digest('hex');
}

export async function sha256OfStream(chunks: AsyncIterable<unknown>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of chunks) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
