/** A worker of webhooks in the process of the test, with the machine's own clock, for receivers on 127.0.0.1. */
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

/** Secret of every endpoint, unless a test opens other keys. */
export const TEST_SECRET = Buffer.alloc(32, 5);

/** For receivers that respond: an attempt that is given up on a busy machine is made again, and counted. */
const PATIENCE_MS = 20_000;

const rules = outboundRules({ allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'] });
const testKeys = async (): Promise<SigningKeys> => ({ secrets: [TEST_SECRET], privateKeys: [] });

/** Times of a worker that looks often and soon releases endpoints without work. It renews and scans as usual. */
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

/** Starts one; the caller stops it. */
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

/** A database whose statements a test watches. */
export interface WatchedDatabase {
  readonly database: DatabaseHandle;
  /** Waits until so many more statements that hold the text were made. */
  came(count: number): Promise<void>;
}

/** Watches for statements. @param text in Kysely's tree of one. @param then called with each, before it is made. */
export function watchStatements(database: DatabaseHandle, text: string, then = (): void => {}): WatchedDatabase {
  let seen = 0;
  const watching: KyselyPlugin = {
    transformQuery: ({ node }) => {
      if (JSON.stringify(node).includes(text)) {
        seen += 1;
        then();
      }
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  return {
    database: { ...database, db: database.db.withPlugin(watching) },
    async came(count) {
      const enough = seen + count;
      await eventually(`${count} more statements with ${text}`, () => seen >= enough);
    },
  };
}

/** In the statement with which a worker looks for all lanes that are due. */
export const LOOK = '["due_at <= "';
