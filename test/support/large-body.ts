/** Generates and hashes bodies that are too large to be buffered. */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';

export const MEBIBYTE = 1024 * 1024;

const CHUNK = randomBytes(MEBIBYTE);

/**
 * Returns the maximum size in MiB of the buffers of a connection's two sockets. The kernel grows the buffers up to
 * these limits (tcp(7)).
 */
export function mebibytesPerConnection(): number {
  const limits = ['tcp_wmem', 'tcp_rmem'].map((name) => readFileSync(`/proc/sys/net/ipv4/${name}`, 'utf8'));
  const bytes = limits.map((limit) => Number(limit.trim().split(/\s+/)[2]));
  return Math.ceil(bytes.reduce((sum, most) => sum + most, 0) / MEBIBYTE);
}

/** Yields chunks of one MiB that all differ. Every call in this process yields the same bytes. */
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
