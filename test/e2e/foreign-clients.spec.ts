/**
 * Tests how common HTTP clients react to our refusals. None waits longer than necessary. None repeats a request that
 * may have taken effect, if the response can prevent that. The results are in docs/clients.md.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createSecret } from '../../src/keys/api-key-format.js';
import { startBackend, type Backend } from '../support/backend.js';
import { clientTables, type ClientEntry, type ClientResult } from '../support/client-table.js';
import { describeUnless } from '../support/describe-with.js';
import {
  ClientProcess,
  CLIENTS_FOLDER,
  clientVersion,
  NODE_CLIENTS,
  PYTHON_CLIENTS,
} from '../support/foreign-clients.js';
import { installNpmPackages, installPythonPackages } from '../support/foreign-packages.js';
import { send } from '../support/http.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { TurnedClock } from '../support/turned-clock.js';

const PAGE = 'docs/clients.md';
const [BEGIN, END] = ['<!-- results: begin -->\n', '\n<!-- results: end -->'];
/** Start time of the gateway's clock, far from the end of a month. */
const START_MS = Date.UTC(2027, 0, 10, 12);
const MINUTE_MS = 60_000;
const PLANS = { month: { account: { month: 1 } }, minute: { key: { minute: 1 } } };
/** Response status of the backend by the first path segment. The default is 200. */
const STATUSES: Readonly<Record<string, number>> = { health: 503, broken: 500 };

/** Clients that retry a POST by default, whatever the response says. */
const REPEATS_EVERYTHING = ['stripe', 'octokit'];
/** Clients that send an `Idempotency-Key` with each POST, and retry with the same one. */
const SENDS_KEYS = ['stripe'];
/** Clients that ignore `Retry-After`. */
const NEVER_WAITS = /^(?:stripe|octokit|httpx)/;
/** Clients that discard the response after their last attempt. */
const LOSES_MESSAGE = ['undici', 'requests'];
const READS_SHOULD_RETRY = ['openai', '@anthropic-ai/sdk'];

const TITLES = {
  month: 'A used-up month: `GET`, 429 `quota_exceeded`',
  minute: 'A full minute: `GET`, 429 `rate_limited`',
  down: 'A service that is out of order: `GET`, 503 `backend_unavailable`',
  broken: 'A service that fails: `POST`, 500 `backend_error`',
  slow: 'A service that does not answer in time: `POST`, 504 `backend_timeout`',
  key: 'A wrong key: `GET`, 401 `invalid_api_key`',
} as const;

type Scenario = keyof typeof TITLES;

let backend: Backend;
let clock: TurnedClock;
let gateway: RunningTrailgate;
let aheadMs = START_MS - Date.now();
const entries: ClientEntry[] = [];
const results: ClientResult[] = [];

beforeAll(async () => {
  backend = await startBackend((request, response) => {
    if (request.url?.startsWith('/slow') === true) return;
    response
      .writeHead(STATUSES[request.url?.split('/')[1] ?? ''] ?? 200, { 'content-type': 'application/json' })
      .end('{"ok":true}');
  });
  clock = new TurnedClock();
  clock.runAhead(aheadMs);
  gateway = await startTrailgate({
    backend: backend.url,
    env: clock.env,
    config: {
      services: {
        backend: { timeouts: { firstByte: '300ms' } },
        down: { targets: [backend.url], health: { path: '/health', interval: '200ms' } },
      },
      operations: [
        { match: 'GET /things/{client}', service: 'backend', scopes: [] },
        { match: 'POST /broken/{client}', service: 'backend', scopes: [] },
        { match: 'POST /slow/{client}', service: 'backend', scopes: [] },
        { match: 'GET /down/{client}', service: 'down', scopes: [] },
      ],
      plans: PLANS,
    },
  });
  const secret = await keyOn('unlimited');
  await eventually('the service is unavailable', async () => (await get('/down/nobody', secret)) === 503);
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
  clock.close();
});

async function keyOn(plan: string): Promise<string> {
  return (await gateway.admin.newKey(plan)).key.secret;
}

async function get(path: string, secret: string): Promise<number> {
  const headers = { Authorization: `Bearer ${secret}` };
  return (await send(`${gateway.gatewayUrl}/api/v1${path}`, { headers })).status;
}

/** Advances the clock of the gateway by the time that a client has waited. */
function turn(byMs: number): void {
  aheadMs += byMs;
  clock.runAhead(aheadMs);
}

async function usedUp(plan: keyof typeof PLANS): Promise<string> {
  const secret = await keyOn(plan);
  expect(await get('/things/nobody', secret)).toBe(200);
  // Moves into the minute, because clients seldom use up a minute in its first second.
  turn(5_000);
  return secret;
}

/** Request of each scenario, and the key that it uses. */
const CALLS: Readonly<Record<Scenario, { method: 'GET' | 'POST'; path: string; secret: () => Promise<string> }>> = {
  month: { method: 'GET', path: '/things/', secret: () => usedUp('month') },
  minute: { method: 'GET', path: '/things/', secret: () => usedUp('minute') },
  down: { method: 'GET', path: '/down/', secret: () => keyOn('unlimited') },
  broken: { method: 'POST', path: '/broken/', secret: () => keyOn('unlimited') },
  slow: { method: 'POST', path: '/slow/', secret: () => keyOn('unlimited') },
  key: { method: 'GET', path: '/things/', secret: async () => createSecret('live') },
};

/** Returns the statuses of a path in log order, once the log has the last request. */
async function statusesOf(path: string): Promise<number[]> {
  const last = `/api/v1/nothing/${results.length}`;
  await send(gateway.gatewayUrl + last);
  const lines = () => gateway.logs().filter(({ event }) => event === 'request');
  await eventually('the log has the last request', () => lines().some((line) => line['path'] === last));
  return lines().flatMap((line) => (line['path'] === path ? [Number(line['status'])] : []));
}

async function play(name: string): Promise<void> {
  const client = new ClientProcess(name, turn);
  entries.push({ name, version: clientVersion(name), detailOf: await client.ready() });
  for (const scenario of Object.keys(CALLS) as Scenario[]) {
    const { method, path, secret } = CALLS[scenario];
    const target = `/api/v1${path}${scenario}-${entries.length}`;
    const outcome = await client.call({ origin: gateway.gatewayUrl, secret: await secret(), method, path: target });
    results.push({ client: name, scenario, path: target, statuses: await statusesOf(target), ...outcome });
  }
  await client.stop();
}

function describeClients(language: string, names: readonly string[], missing: string | null): void {
  describeUnless(missing)(`a client in ${language}`, () => {
    describe.each(names)('%s', (name) => {
      beforeAll(() => play(name));
      const resultOf = (scenario: Scenario): ClientResult =>
        results.find((result) => result.client === name && result.scenario === scenario)!;

      it('gives up on a used-up month within 30 seconds', () => {
        const { statuses, waitsMs } = resultOf('month');
        expect(new Set(statuses)).toEqual(new Set([429]));
        expect(statuses.length).toBeLessThanOrEqual(READS_SHOULD_RETRY.includes(name) ? 1 : 8);
        expect(sum(waitsMs)).toBeLessThanOrEqual(MINUTE_MS / 2);
      });

      const waits = !NEVER_WAITS.test(name);
      it(`${waits ? 'waits for the next minute, and is served' : 'does not wait for the next minute'}`, () => {
        const { statuses, waitsMs, text } = resultOf('minute');
        expect(statuses.at(-1)).toBe(waits ? 200 : 429);
        // undici never waits longer than 30 seconds at a time.
        expect(statuses.length).toBeLessThanOrEqual(waits ? (name.startsWith('undici') ? 3 : 2) : 8);
        expect(sum(waitsMs)).toBeGreaterThanOrEqual(waits ? MINUTE_MS - 10_000 : 0);
        expect(sum(waitsMs)).toBeLessThan(waits ? MINUTE_MS + 15_000 : MINUTE_MS / 2);
        expect(text === null || !waits).toBe(true);
      });

      it('gives up on an unavailable service within 30 seconds', () => {
        const { statuses, waitsMs } = resultOf('down');
        expect(new Set(statuses)).toEqual(new Set([503]));
        expect(statuses.length).toBeLessThanOrEqual(6);
        expect(sum(waitsMs)).toBeLessThanOrEqual(MINUTE_MS / 2);
      });

      const repeats = REPEATS_EVERYTHING.includes(name);
      it(`sends a POST that may have taken effect ${repeats ? 'again despite the response' : 'only once'}`, () => {
        for (const [scenario, status] of [
          ['slow', 504],
          ['broken', 500],
        ] as const) {
          const { statuses, path } = resultOf(scenario);
          // With an idempotency key, the gateway refuses to carry out a request again whose outcome is unknown.
          const others = SENDS_KEYS.includes(name) && scenario === 'slow' ? [409] : [];
          expect([scenario, ...new Set(statuses)]).toEqual([scenario, status, ...others]);
          expect([scenario, statuses.length > 1]).toEqual([scenario, repeats]);
          const carriedOut = backend.requests.filter(({ url }) => path.endsWith(url)).length;
          expect([scenario, carriedOut > 1]).toEqual([scenario, repeats && !SENDS_KEYS.includes(name)]);
        }
      });

      it('stops at the first 401, and exposes our error message', () => {
        expect(resultOf('key')).toMatchObject({ statuses: [401], waitsMs: [], detail: 'There is no such API key.' });
      });

      const loses = LOSES_MESSAGE.includes(name);
      it(`${loses ? 'loses' : 'exposes'} our error message when it gives up`, () => {
        const used = /^Account \S+ has used 1 of 1 requests this month\. It resets at 2027-02-01T00:00:00\+00:00\.$/;
        expect(resultOf('month').detail ?? 'nothing').toMatch(loses ? /^nothing$/ : used);
      });
    });
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

const missingNode = installNpmPackages(CLIENTS_FOLDER);
const missingPython = installPythonPackages(CLIENTS_FOLDER);
describeClients('JavaScript', NODE_CLIENTS, missingNode);
describeClients('Python', PYTHON_CLIENTS, missingPython);

describeUnless(missingNode ?? missingPython)(PAGE, () => {
  it('documents the behavior of the clients (TRAILGATE_TEST_WRITE=1 updates it)', () => {
    const page = readFileSync(PAGE, 'utf8');
    const before = page.slice(0, page.indexOf(BEGIN) + BEGIN.length);
    const written = before + clientTables(entries, TITLES, results) + page.slice(page.indexOf(END));
    if (process.env['TRAILGATE_TEST_WRITE'] === '1') writeFileSync(PAGE, written);
    expect(readFileSync(PAGE, 'utf8')).toBe(written);
  });
});
