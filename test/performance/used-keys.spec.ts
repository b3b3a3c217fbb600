/**
 * Heap bytes that a process needs for each used key. A hundred thousand keys must fit into a small process. Limits are
 * slightly above the current figures. Lower them after an improvement, and raise them only with a reason.
 */
import { expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { GatewayFile, Operation } from '../../src/config/model/schema.js';
import type { ApiKeyLookup, ApiKeyRecord } from '../../src/keys/api-key.js';
import { ApiKeyCache } from '../../src/keys/api-key-cache.js';
import { CachedKeyFactory } from '../../src/keys/cached-key.js';
import { ProcessBus } from '../../src/keys/process-bus.js';
import { ScopeSets } from '../../src/keys/scopes.js';
import { keysText } from '../../src/quota/redis/decision-text.js';
import { NO_LIMIT_CHANGES } from '../../src/quota/model/effective-limits.js';
import type { QuotaDecision } from '../../src/quota/model/policies.js';
import { IN_FLIGHT, SUCCESS, type CountedRequest } from '../../src/quota/model/usage-cell.js';
import { UsageRecorder } from '../../src/quota/usage/usage-recorder.js';
import { TestClock } from '../support/stores.js';
import { countsWith } from '../support/quotas.js';

const KEYS = 20_000;
const WARM_UP_KEYS = 100;
const KEYS_PER_ACCOUNT = 10;
/** Maximum bytes for an idle key, and for a key with usage that waits to be written. */
const LIMITS = { quiet: 420, busy: 580 };

const PLANS = {
  pro: { key: { minute: 1_000 }, account: { month: 1_000_000 }, onRedisLoss: 'local', charge: 'all' },
} as const satisfies GatewayFile['plans'];
const LIST: Operation = { index: 12, id: 'list', method: 'GET', template: '/list', service: 's', scopes: [], cost: 1 };

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

const numbered = (prefix: string, at: number): string => `${prefix}_1m7x92zfd${String(at).padStart(16, '0')}`;

/** Key lookup that returns rows like a database, each with its own strings. */
class Rows implements ApiKeyLookup {
  readonly hashes = Array.from({ length: WARM_UP_KEYS + KEYS }, (_, at) =>
    createHash('sha256').update(`${at}`).digest('latin1'),
  );
  private readonly places = new Map(this.hashes.map((hash, at) => [hash, at]));

  async findByHashes(hashes: readonly string[]): Promise<readonly ApiKeyRecord[]> {
    return hashes.map((hash) => {
      const at = this.places.get(hash) ?? 0;
      const row = {
        hash,
        keyId: numbered('key', at),
        accountId: numbered('acc', Math.floor(at / KEYS_PER_ACCOUNT)),
        keyStatus: 'active',
        environment: 'live',
        scopes: ['customers:read'],
        expiresAt: null,
        rotatedOut: false,
        allowedIps: [],
        accountStatus: 'active',
        plan: 'pro',
        timeZone: 'Europe/Vienna',
        billingDay: 1,
      };
      return { ...(JSON.parse(JSON.stringify(row)) as ApiKeyRecord), limitChanges: NO_LIMIT_CHANGES };
    });
  }
}

it('a used key needs at most 580 bytes of heap, and 420 after its usage was written', async () => {
  const clock = new TestClock();
  const rows = new Rows();
  const cache = new ApiKeyCache(rows, new CachedKeyFactory(PLANS, new ScopeSets()), new ProcessBus(true), clock);
  const recorder = new UsageRecorder(clock);
  const use = async (hash: string): Promise<void> => {
    const subject = (await cache.find(hash))!.subject!;
    const period = subject.calendar.at(clock.now());
    const used = countsWith({ keyMinute: 1, accountMinute: 7, accountMonth: 7_000, keyMonth: 500 });
    const decision: QuotaDecision = {
      admitted: true,
      source: 'store',
      cost: 1,
      nowMs: clock.now(),
      period,
      used,
      keyMinuteResetMs: 0,
      accountMinuteResetMs: 0,
      violated: 0,
      retryAtMs: 0,
    };
    expect(keysText(subject)).toContain(subject.keyId);
    subject.recordSeen(used, clock.now(), period);
    const request: CountedRequest = { usage: undefined, usageCost: 0, completion: IN_FLIGHT, usageRefunded: false };
    recorder.recordDecision(request, subject, LIST, decision);
    recorder.recordEnd(request, SUCCESS);
  };
  for (const hash of rows.hashes.slice(0, WARM_UP_KEYS)) await use(hash);
  const before = heapBytes();
  for (const hash of rows.hashes.slice(WARM_UP_KEYS)) await use(hash);
  const busy = (heapBytes() - before) / KEYS;
  for (const account of recorder.waitingAccounts()) recorder.takeChanges(account, []);
  for (let flush = 0; flush < 2; flush++) recorder.reapIdle();
  const quiet = (heapBytes() - before) / KEYS;
  expect(await cache.find(rows.hashes[0]!)).toBeDefined();
  expect(busy).toBeLessThanOrEqual(LIMITS.busy);
  expect(quiet).toBeLessThanOrEqual(LIMITS.quiet);
  // Lower the limits when they are far above the figures.
  expect(quiet).toBeGreaterThan(LIMITS.quiet * 0.8);
});
