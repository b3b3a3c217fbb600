/** Attack by connections that do not read responses, in order to fill the memory. */
import { expect, it } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { send } from '../support/http.js';
import { atEndOfFile } from '../support/jest/current.mjs';
import { residentBytes } from '../support/metrics-text.js';
import { eventually, preload, sleep } from '../support/processes.js';
import { startProxied } from '../support/proxied.js';

const CHUNK = Buffer.alloc(64 * 1024);

/**
 * Environment in which the resident memory of the program matches its live data. Otherwise, garbage, the young
 * generation of V8, and freed buffers of the C library vary by more than the limit.
 */
const EXACT_MEMORY = {
  NODE_OPTIONS: `${preload('collect-garbage-of-program.mjs').NODE_OPTIONS} --max-semi-space-size=1`,
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '16384',
  MALLOC_TRIM_THRESHOLD_: '0',
};

/** Waits until the memory of a process stops growing, and returns it. Buffers fill after the request has arrived. */
async function settledBytes(pid: number): Promise<number> {
  let bytes = residentBytes(pid);
  await eventually('the memory stops growing', async () => {
    const before = bytes;
    await sleep(500);
    bytes = residentBytes(pid);
    return Math.abs(bytes - before) < 1024 * 1024;
  });
  return bytes;
}

it('forty slow readers hold less than 1 MiB each, while other clients get responses', async () => {
  const patient = await startProxied({ own: true, env: EXACT_MEMORY, backendOptions: { atOnce: true } });
  patient.answerWith((_request, response) => {
    const more = (): void => {
      while (response.write(CHUNK));
      response.once('drain', more);
    };
    more();
  });
  const sockets: Socket[] = [];
  atEndOfFile(async () => {
    for (const socket of sockets) socket.destroy();
    await patient.stop();
  });
  const hold = async (count: number): Promise<void> => {
    const wanted = patient.backend.requests.length + count;
    for (let index = 0; index < count; index++) {
      const socket = connect(patient.port, '127.0.0.1').on('error', () => {});
      sockets.push(socket.pause());
      socket.write(`GET /api/v1/files/a HTTP/1.1\r\nHost: a\r\nAuthorization: ${patient.authorization}\r\n\r\n`);
    }
    await eventually('all downloads are running', () => patient.backend.requests.length === wanted, 15_000);
  };
  // Holds some connections first, because any load takes that memory.
  await hold(15);
  const before = await settledBytes(patient.trailgate.pid);
  await hold(40);
  for (let time = 0; time < 20; time++)
    expect((await send(`${patient.url}/open`, { timeoutMs: 1_000 })).status).toBe(401);
  const held = (): number => (residentBytes(patient.trailgate.pid) - before) / 40;
  await eventually('each connection holds less than 1 MiB', () => held() < 1024 * 1024, 20_000);
});
