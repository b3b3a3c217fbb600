/**
 * A compression bomb costs only its compressed size. The gateway passes it on without decoding it, and truncates it if
 * it is an error.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expectProblem } from '../support/problem.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';

const DECODED_BYTES = 50 * 1024 * 1024;
/** Maximum bytes of an error that the gateway reads and decodes. Each bomb is smaller. */
const ERROR_BYTES = 64 * 1024;
/** Maximum memory growth during a few requests. Much less than one decoded body. */
const MAX_GROWTH_BYTES = 45 * 1024 * 1024;
const TIMES = 6;

/** A JSON document with one long message. */
const document = Buffer.concat([Buffer.from('{"message":"'), Buffer.alloc(DECODED_BYTES, 'x'), Buffer.from('"}')]);
const encoders = {
  gzip: (bytes: Buffer) => gzipSync(bytes, { level: 9 }),
  deflate: (bytes: Buffer) => deflateSync(bytes, { level: 9 }),
  br: (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: (bytes: Buffer) => zstdCompressSync(bytes),
} as const;
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Returns the peak memory of a process, as the kernel reports it. */
function peakBytes(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

describe.each(Object.entries(encoders))('a compression bomb in %s', (coding, encode) => {
  let gateway: OwnProxied;
  let bomb: Buffer;
  let before: number;

  beforeAll(async () => {
    bomb = encode(document);
    gateway = await startProxied({ own: true });
    for (let warm = 0; warm < 30; warm++) await gateway.send('/open');
    before = peakBytes(gateway.trailgate.pid);
  });
  afterAll(() => gateway?.stop());

  const times = <T>(run: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: TIMES }, run));
  const fields = { 'content-type': 'application/json', 'content-encoding': coding };

  it('passes unchanged as a response', async () => {
    gateway.answerWith((_request, response) => response.writeHead(200, fields).end(bomb));
    for (const answer of await times(() => gateway.send('/open'))) {
      expect(answer.headers['content-encoding']).toBe(coding);
      expect(sha256(answer.body)).toBe(sha256(bomb));
    }
  });

  it('passes unchanged as a request body', async () => {
    gateway.answerWith((_request, response) => response.end('{}'));
    const answers = await times(() => gateway.send('/files/a', { method: 'PUT', headers: fields, body: bomb }));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    for (const { headers, bodySha256 } of gateway.backend.requests) {
      expect([headers['content-encoding'], bodySha256]).toEqual([coding, sha256(bomb)]);
    }
  });

  it('keeps its status and code as an error response, but loses its message', async () => {
    expect(bomb.length).toBeLessThan(ERROR_BYTES);
    const small = encode(Buffer.from('{"message":"Read me."}'));
    gateway.answerWith((_request, response) => response.writeHead(422, fields).end(small));
    expect(expectProblem(await gateway.send('/open'), 'validation_failed').detail).toBe('Read me.');
    gateway.answerWith((_request, response) => response.writeHead(422, fields).end(bomb));
    for (const answer of await times(() => gateway.send('/open'))) {
      expect(expectProblem(answer, 'validation_failed').detail).toBeUndefined();
      expect(answer.body.length).toBeLessThan(1_000);
    }
    expect((await gateway.send('/open')).status).toBe(422);
  });

  it('does not increase peak memory by its decoded size', () => {
    expect(peakBytes(gateway.trailgate.pid) - before).toBeLessThan(MAX_GROWTH_BYTES);
  });
});
