/**
 * Endpoints of every dead kind beside those that work: what these get, and when, and what plain requests cost, is the same as without them.
 *
 * The suite has 48 endpoints, 32 of them dead; `TRAILGATE_TEST_ENDPOINTS=1000 npm test -- test/e2e/webhook-dead-endpoints` has so many, of which a
 * tenth is dead, and lets attempts hang as long as they may. What it measured is said on stderr.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { times } from '../support/counter-stores.js';
import { startDeadReceivers, type DeadReceivers } from '../support/dead-receivers.js';
import { quietMsSince } from '../support/machine-time.js';
import { residentBytes } from '../support/metrics-text.js';
import { PlainBackend } from '../support/plain-load.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { quantile, SteadyLoad } from '../support/steady-load.js';
import type { MadeEndpoint } from '../support/webhook-endpoints.js';
import { startReceiver, type Receiver } from '../support/webhook-receiver.js';

const FULL = Number(process.env['TRAILGATE_TEST_ENDPOINTS'] ?? 0);
/** Of each account. */
const [GOOD, DEAD] = FULL > 0 ? [9, 1] : [2, 4];
const ACCOUNTS = FULL > 0 ? Math.ceil(FULL / (GOOD + DEAD)) : 8;
const [QUIET_MS, LOADED_MS] = FULL > 0 ? [20_000, 60_000] : [4_000, 10_000];
const TIMEOUT = FULL > 0 ? '15s' : '3s';
/** Accounts that get an event at a time, one batch of them all, and how often. */
const ACCOUNTS_A_TICK = Math.ceil(ACCOUNTS / 20);
const TICK_MS = 100;
const REQUESTS_PER_SECOND = 50;
const TOKEN = 'token-of-a-service-that-tells-0123456789';

/** On a machine that has time for whoever wants it. */
const MOST_DELAY_MS = 1_000;
/** Until it is left alone a dead one gets five attempts in a row, then one after each pause of 1, 2, 4, … s. */
const MOST_ATTEMPTS = 5 + Math.ceil(Math.log2(LOADED_MS / 1_000 + 1)) + 1;
const MOST_MORE_BYTES = 64 * 1024 * 1024;
/** What may lie in sockets beside the 64 KiB that are read. */
const MOST_BYTES_OF_RESPONSE = 16 * 1024 * 1024;
/** More of a core than without dead endpoints: of attempts at them until they are left alone, and of measuring. */
const MOST_MORE_OF_CORE = 0.15;
const TICKS_PER_SECOND = 100;

interface Phase {
  readonly delaysMs: number[];
  readonly lateMs: number[];
  readonly requestsMs: number[];
  readonly statuses: Set<number>;
  readonly ofCore: number;
  readonly mostBytes: number;
  readonly mostDescriptors: number;
}

let receiver: Receiver;
let backend: PlainBackend;
let dead: DeadReceivers;
let trailgate: RunningTrailgate;
let accountIds: string[];
let load: SteadyLoad;
/** Since the phase began. */
let delaysMs: number[] = [];
let lateMs: number[] = [];
const arrived = new Map<string, number>();
const misled: string[] = [];
let handedIn = 0;

beforeAll(async () => {
  receiver = await startReceiver();
  receiver.respond((response, { path, id, body, atMs }) => {
    if (path !== '/good') misled.push(path);
    arrived.set(id, (arrived.get(id) ?? 0) + 1);
    const { sentMs } = (JSON.parse(body) as { data: { sentMs: number } }).data;
    delaysMs.push(atMs - sentMs);
    if (atMs - sentMs > MOST_DELAY_MS) lateMs.push(Math.min(atMs - sentMs, quietMsSince(sentMs)));
    receiver.received.length = 0;
    response.writeHead(204).end();
  });
  dead = await startDeadReceivers(`${receiver.url}/elsewhere`);
  backend = new PlainBackend();
  trailgate = await startTrailgate({
    backend: await backend.start(),
    config: {
      services: { backend: { eventsToken: TOKEN } },
      events: { 'customer.created': {} },
      webhooks: { allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'], timeout: TIMEOUT },
    },
    env: { LOG_LEVEL: 'info', TRAILGATE_SECRETS_KEY: `${'a'.repeat(43)}=` },
  });
  const { admin, gatewayUrl } = trailgate;
  accountIds = [];
  for (let count = 0; count < ACCOUNTS; count++) {
    const { id } = await admin.createAccount({ name: `Account ${count}` });
    accountIds.push(id);
    await addEndpoints(
      id,
      times(GOOD, () => `${receiver.url}/good`),
    );
  }
  const { key } = await admin.newKey();
  load = new SteadyLoad([{ name: 'plain', gatewayUrl, secret: key.secret }], REQUESTS_PER_SECOND);
}, 300_000);
afterAll(async () => {
  await load.stop();
  await trailgate.stop();
  dead.stop();
  receiver.stop();
  await backend.stop();
});

async function addEndpoints(accountId: string, urls: readonly string[]): Promise<string[]> {
  const made = urls.map((url) =>
    trailgate.admin.call<MadeEndpoint>('POST', `/accounts/${accountId}/webhook-endpoints`, { url }),
  );
  return (await Promise.all(made)).map(({ id }) => id);
}

async function handIn(accounts: readonly string[]): Promise<void> {
  const sentMs = performance.now();
  const events = accounts.map((accountId) => ({
    id: `evt-${handedIn++}`,
    type: 'customer.created',
    account_id: accountId,
    data: { sentMs },
  }));
  const response = await fetch(`${trailgate.adminUrl}/internal/v1/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ events }),
  });
  expect(response.status).toBe(202);
  await response.arrayBuffer();
}

/** User and system time of the program, in seconds. */
function cpuSeconds(): number {
  const fields = readFileSync(`/proc/${trailgate.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Hands events in for so long, and waits until the good endpoints have all of them. */
async function phase(what: string, lastsMs: number): Promise<Phase> {
  [delaysMs, lateMs] = [[], []];
  const [startMs, cpuBefore] = [performance.now(), cpuSeconds()];
  let [mostBytes, mostDescriptors, turn] = [0, 0, 0];
  const pending: Promise<void>[] = [];
  for (let atMs = startMs; atMs < startMs + lastsMs; atMs += TICK_MS) {
    pending.push(handIn(times(ACCOUNTS_A_TICK, () => accountIds[turn++ % ACCOUNTS]!)));
    mostBytes = Math.max(mostBytes, residentBytes(trailgate.pid));
    mostDescriptors = Math.max(mostDescriptors, readdirSync(`/proc/${trailgate.pid}/fd`).length);
    await sleep(Math.max(0, atMs + TICK_MS - performance.now()));
  }
  const endMs = performance.now();
  const ofCore = ((cpuSeconds() - cpuBefore) * 1_000) / (endMs - startMs);
  await Promise.all(pending);
  await eventually(
    'the good endpoints have all events',
    () => delaysMs.length >= pending.length * ACCOUNTS_A_TICK * GOOD,
  );
  const samples = load.between(startMs, endMs);
  const requestsMs = samples.map(({ tookMs }) => tookMs);
  const statuses = new Set(samples.map(({ status }) => status));
  const figure = (values: readonly number[], share: number) => quantile(values, share).toFixed(1);
  process.stderr.write(
    `${what}: ${delaysMs.length} deliveries, delay p50 ${figure(delaysMs, 0.5)} ms, p99 ${figure(delaysMs, 0.99)} ms, ` +
      `most ${figure(delaysMs, 1)} ms; plain requests p50 ${figure(requestsMs, 0.5)} ms, p99 ${figure(requestsMs, 0.99)} ms; ` +
      `${(ofCore * 100).toFixed(1)} % of a core, ${Math.round(mostBytes / 2 ** 20)} MiB, ${mostDescriptors} descriptors\n`,
  );
  return { delaysMs, lateMs, requestsMs, statuses, ofCore, mostBytes, mostDescriptors };
}

describe('dead endpoints of every kind', () => {
  let without: Phase;
  let beside: Phase;
  let deadIds: Map<string, string>;
  let mostOpen = 0;

  beforeAll(
    async () => {
      await phase('warming up', FULL > 0 ? 5_000 : 2_000);
      without = await phase('without dead endpoints', QUIET_MS);
      const kinds = Object.entries(dead.urls);
      deadIds = new Map();
      let next = 0;
      for (const accountId of accountIds) {
        const chosen = times(DEAD, () => kinds[next++ % kinds.length]!);
        const ids = await addEndpoints(
          accountId,
          chosen.map(([, url]) => url),
        );
        ids.forEach((id, at) => deadIds.set(id, chosen[at]![0]));
      }
      const timer = setInterval(() => (mostOpen = Math.max(mostOpen, dead.connections)), 50);
      beside = await phase(`with ${deadIds.size} dead endpoints`, LOADED_MS);
      clearInterval(timer);
    },
    LOADED_MS + QUIET_MS + 180_000,
  );

  const attempts = () =>
    trailgate.logs().filter((line) => line['event'] === 'webhook_attempt' && deadIds.has(String(line['endpoint_id'])));

  it('delay none of the others: each of their events arrives within a second, once to each', () => {
    expect(beside.lateMs.filter((ms) => ms > MOST_DELAY_MS)).toEqual([]);
    expect([...arrived.values()].filter((count) => count !== GOOD)).toEqual([]);
    expect(arrived.size).toBe(handedIn);
  });

  it('are tried, in vain, one attempt at a time, and left alone after a few', () => {
    const tried = new Map<string, number>();
    for (const line of attempts()) {
      expect([line['outcome'], line['delivery']]).not.toContain('succeeded');
      const id = String(line['endpoint_id']);
      tried.set(id, (tried.get(id) ?? 0) + 1);
    }
    expect(tried.size).toBe(deadIds.size);
    // A redirect says that somebody is there: it fails, and opens no breaker.
    const often = [...tried].filter(([id, count]) => deadIds.get(id) !== 'redirecting' && count > MOST_ATTEMPTS);
    expect(often).toEqual([]);
    expect(mostOpen).toBeLessThanOrEqual(deadIds.size + 8);
    expect(misled).toEqual([]);
  });

  it('are given no more memory and descriptors than attempts under way need', () => {
    expect(beside.mostDescriptors).toBeLessThan(without.mostDescriptors + deadIds.size + ACCOUNTS * GOOD + 16);
    expect(beside.mostBytes).toBeLessThan(without.mostBytes + MOST_MORE_BYTES);
    expect(dead.endless.requests).toBeGreaterThan(0);
    expect(dead.endless.bytes / dead.endless.requests).toBeLessThan(MOST_BYTES_OF_RESPONSE);
  });

  it('make plain requests neither fail nor cost much more', () => {
    expect(beside.statuses).toEqual(new Set([200]));
    expect(beside.ofCore).toBeLessThan(without.ofCore + MOST_MORE_OF_CORE);
  });
});
