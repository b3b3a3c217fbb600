/**
 * A tenth of a thousand endpoints stops responding, and the others get their deliveries as fast as before.
 *
 * Other work of the machine delays deliveries in some phases. A round has a phase without hanging endpoints and one
 * with them, and the best of a few rounds counts. If hanging endpoints delayed others, they would do so in every round.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { repeat } from '../support/counter-stores.js';
import { quietMsSince } from '../support/machine-time.js';
import {
  startMoodyReceiver,
  startQuickReceiver,
  type MoodyReceiver,
  type QuickReceiver,
} from '../support/plain-receivers.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { quantile } from '../support/steady-load.js';

const ACCOUNTS = 100;
/** Number of endpoints per account. The last one hangs. */
const ENDPOINTS = 10;
const GOOD = ENDPOINTS - 1;
/** Number of hosts. Nine endpoints share each, as with providers that receive for many customers. */
const HOSTS = 100;
const AT_ONCE = 8;
/** Events per second, for one account after the other. This makes 200 deliveries a second. */
const EVENTS_PER_SECOND = 20;
const PHASE_MS = 5_000;
const MAX_ROUNDS = 4;
const TOKEN = 'token-of-a-service-that-tells-0123456789';
/** Maximum factor on the median delay of the other endpoints. `TELLABLE_MS` is the allowed absolute increase. */
const MAX_LONGER = 1.1;
const TELLABLE_MS = 5;
/** Maximum delay of a delivery, without the time that other programs use. */
const MAX_DELAY_MS = 1_000;
const TICKS_PER_SECOND = 100;

interface Phase {
  readonly medianMs: number;
  readonly longestMs: number;
}

let quick: QuickReceiver;
let moody: MoodyReceiver;
let trailgate: RunningTrailgate;
const accountIds: string[] = [];
let handedIn = 0;
/** Delays of deliveries, without the time that other programs used. */
let quietMs: number[] = [];

beforeAll(async () => {
  quick = await startQuickReceiver(HOSTS, ({ sentMs }) => quietMs.push(quietMsSince(sentMs)));
  moody = await startMoodyReceiver();
  trailgate = await startTrailgate({
    config: {
      services: { backend: { eventsToken: TOKEN } },
      events: { 'customer.created': {} },
      webhooks: { allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'], timeout: '15s' },
    },
    env: { LOG_LEVEL: 'warn', TRAILGATE_SECRETS_KEY: `${'a'.repeat(43)}=` },
  });
  for (let count = 0; count < ACCOUNTS; count++) {
    accountIds.push((await trailgate.admin.createAccount({ name: `Account ${count}` })).id);
  }
  const urlOf = (account: number, each: number) =>
    each < GOOD ? quick.urls[(account * GOOD + each) % HOSTS]! : moody.url;
  const left = accountIds.flatMap((id, account) =>
    repeat(ENDPOINTS, (each) => [id, `${urlOf(account, each)}/${account}/${each}`] as const),
  );
  const add = async (): Promise<void> => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      await trailgate.admin.call('POST', `/accounts/${next[0]}/webhook-endpoints`, { url: next[1] });
    }
  };
  await Promise.all(repeat(AT_ONCE, add));
  // Sends one event to each endpoint, so that its signing keys are loaded and its receiver is known to be fast.
  await phase('each endpoint once', (ACCOUNTS / EVENTS_PER_SECOND) * 1_000);
}, 300_000);
afterAll(async () => {
  await trailgate.stop();
  moody.stop();
  quick.stop();
});

async function handIn(): Promise<void> {
  const number = handedIn++;
  const accountId = accountIds[number % ACCOUNTS]!;
  const event = { id: `e${number}`, type: 'customer.created', data: { sentMs: performance.now() } };
  const response = await fetch(`${trailgate.adminUrl}/internal/v1/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ events: [{ ...event, account_id: accountId }] }),
  });
  expect(response.status).toBe(202);
  await response.arrayBuffer();
}

/** Returns the user and system time of the program, in milliseconds. */
function cpuMs(): number {
  const fields = readFileSync(`/proc/${trailgate.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_PER_SECOND;
}

/** Sends events for the given time, and waits until the good endpoints have received them. */
async function phase(what: string, lastsMs: number): Promise<Phase> {
  quick.reset();
  quietMs = [];
  const [startMs, cpuBefore] = [performance.now(), cpuMs()];
  const pending: Promise<void>[] = [];
  for (let count = 0; count < (lastsMs / 1_000) * EVENTS_PER_SECOND; count++) {
    await sleep(Math.max(0, startMs + (count * 1_000) / EVENTS_PER_SECOND - performance.now()));
    pending.push(handIn());
  }
  await Promise.all(pending);
  await eventually(
    'all events have arrived at the good endpoints',
    () => quick.delaysMs.length >= pending.length * GOOD,
  );
  const figure = (values: readonly number[], share: number) => quantile(values, share).toFixed(1);
  process.stderr.write(
    `${what}: ${quick.delaysMs.length} deliveries, p50 ${figure(quick.delaysMs, 0.5)} ms, p99 ${figure(quick.delaysMs, 0.99)} ms ` +
      `(${figure(quietMs, 0.5)} and ${figure(quietMs, 0.99)} without the time that other programs used), ` +
      `${(((cpuMs() - cpuBefore) * 1_000) / quick.delaysMs.length).toFixed(0)} µs of CPU time each\n`,
  );
  return { medianMs: quantile(quietMs, 0.5), longestMs: Math.max(...quietMs) };
}

describe('a hundred hanging endpoints of a thousand', () => {
  it(
    'do not increase the median delay of the others, nor any delay beyond a second',
    async () => {
      let isShown = false;
      for (let round = 0; round < MAX_ROUNDS && !isShown; round++) {
        const before = await phase('all respond', PHASE_MS);
        moody.hang(true);
        const beside = await phase('a tenth hangs', PHASE_MS);
        expect(moody.unanswered).toBeGreaterThan(ACCOUNTS / 2);
        moody.hang(false);
        const most = Math.max(before.medianMs * MAX_LONGER, before.medianMs + TELLABLE_MS);
        isShown = beside.medianMs <= most && beside.longestMs <= MAX_DELAY_MS;
      }
      expect(isShown).toBe(true);
    },
    MAX_ROUNDS * 2 * (PHASE_MS + 40_000),
  );

  it('neither lose nor repeat an event of the others', () => {
    expect(quick.twice).toEqual([]);
    expect(quick.came).toBe(handedIn * GOOD);
  });
});
