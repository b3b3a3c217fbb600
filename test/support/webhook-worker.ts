/** Starts a webhook worker in the process of the test. It uses the system clock, and sends to 127.0.0.1. */
import type { KyselyPlugin } from 'kysely';
import { pino } from 'pino';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { WorkSignal } from '../../src/outbox/work-signal.js';
import { WebhookSender } from '../../src/webhooks/sending/attempt.js';
import type { SigningKeys } from '../../src/webhooks/signing/webhook-signature.js';
import { outboundRules } from '../../src/http/outbound/destination.js';
import { GuardedConnections } from '../../src/http/outbound/guarded-agent.js';
import { systemClock } from '../../src/platform/clock.js';
import { startDeliveries, type RunningDeliveries } from '../../src/webhooks/deliveries/start-deliveries.js';
import { WORKER_TIMES, type WorkerTimes } from '../../src/webhooks/deliveries/worker-times.js';
import { eventually } from './processes.js';

/** Secret of every endpoint, unless a test passes `openKeys`. */
export const TEST_SECRET = Buffer.alloc(32, 5);

/** Timeout of connections and attempts. Long, because a retry on a busy machine would change what tests count. */
const PATIENCE_MS = 20_000;

const rules = outboundRules({ allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'] });
const testKeys = async (): Promise<SigningKeys> => ({ secrets: [TEST_SECRET], privateKeys: [] });

/**
 * Intervals of a worker that claims lanes often and soon releases idle ones. Renewals and scans keep their usual
 * intervals.
 */
export const QUICK_TIMES: WorkerTimes = {
  ...WORKER_TIMES,
  claimMs: 40,
  claimWithoutNotificationsMs: 40,
  lingerMs: 300,
  releaseMs: 40,
  recheckMs: 80,
  checkMs: 80,
};

export interface WorkerOptions {
  readonly openKeys?: () => Promise<SigningKeys>;
  readonly hasMail?: boolean;
  readonly times?: WorkerTimes;
}

/** Starts a worker. The caller must stop it. */
export function startWorker(
  { db, kind }: DatabaseHandle,
  signal: WorkSignal,
  { openKeys = testKeys, hasMail = false, times = WORKER_TIMES }: WorkerOptions = {},
): Promise<RunningDeliveries> {
  const connections = new GuardedConnections({ resolve: async () => ['127.0.0.1'], connectTimeoutMs: PATIENCE_MS });
  return startDeliveries({
    db,
    kind,
    clock: systemClock,
    log: pino({ level: 'silent' }),
    signal,
    sender: new WebhookSender({ connections, rules: () => rules, clock: systemClock }),
    openKeys: (ids) => Promise.all(ids.map(() => openKeys().catch((error: unknown) => error as Error))),
    timeoutMs: () => PATIENCE_MS,
    hasMail: () => hasMail,
    databaseUrl: undefined,
    isAlone: false,
    times,
  });
}

/** WatchedDatabase counts certain statements of a database. */
export interface WatchedDatabase {
  readonly database: DatabaseHandle;
  /** Waits until `count` more statements with the text were issued. */
  waitForStatements(count: number): Promise<void>;
}

/**
 * Counts the statements that contain a text.
 * @param text text in the JSON of Kysely's syntax tree.
 * @param onMatch called for each such statement, before it is executed.
 */
export function watchStatements(database: DatabaseHandle, text: string, onMatch = (): void => {}): WatchedDatabase {
  let seen = 0;
  const watching: KyselyPlugin = {
    transformQuery: ({ node }) => {
      if (JSON.stringify(node).includes(text)) {
        seen += 1;
        onMatch();
      }
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  return {
    database: { ...database, db: database.db.withPlugin(watching) },
    async waitForStatements(count) {
      const enough = seen + count;
      await eventually(`${count} more statements with ${text}`, () => seen >= enough);
    },
  };
}

/** Text in the statement with which a worker claims all due lanes. For `watchStatements`. */
export const DUE_LANES_STATEMENT = '["due_at <= "';
