/** Large uploads and downloads need constant memory, even when the receiver does not read. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describeWithProc } from '../support/describe-with.js';
import { largeBody } from '../support/large-body.js';
import { residentBytes } from '../support/metrics-text.js';
import { sleep } from '../support/processes.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';

const MEBIBYTES = 200;
/** Maximum memory growth of the gateway while 200 MiB pass through it. */
const MAX_GROWTH_BYTES = 80 * 1024 * 1024;
/** Time that the receiver does not read. */
const STALL_MS = 500;

describeWithProc('200 MiB', () => {
  let gateway: OwnProxied;
  beforeAll(async () => {
    gateway = await startProxied({ own: true, backendOptions: { atOnce: true } });
    // Uploads once before measuring, because the first large body grows the young generation of V8 to its maximum.
    await upload(0);
  });
  afterAll(() => gateway.stop());

  const body = () => Readable.from(largeBody(MEBIBYTES));

  async function upload(stallMs: number): Promise<void> {
    gateway.answerWith(async (request, response) => {
      await sleep(stallMs);
      for await (const _chunk of request);
      response.end('stored');
    });
    expect((await gateway.send('/files/large', { method: 'PUT', body: body() })).text).toBe('stored');
  }

  async function download(stallMs: number): Promise<void> {
    gateway.answerWith((_request, response) => pipeline(body(), response));
    const { response } = await gateway.exchange('/files/large');
    response.pause();
    await sleep(stallMs);
    let bytes = 0;
    for await (const chunk of response) bytes += (chunk as Buffer).length;
    expect(bytes).toBe(MEBIBYTES * 1024 * 1024);
  }

  it.each([
    ['up', () => upload(0)],
    ['down', () => download(0)],
    ['up to a backend that does not read', () => upload(STALL_MS)],
    ['down to a client that does not read', () => download(STALL_MS)],
  ])('pass %s in constant memory', async (_what, pass) => {
    const { pid } = gateway.trailgate;
    const before = residentBytes(pid);
    let most = before;
    const timer = setInterval(() => (most = Math.max(most, residentBytes(pid))), 20);
    await pass().finally(() => clearInterval(timer));
    expect(most - before).toBeLessThan(MAX_GROWTH_BYTES);
  });
});
