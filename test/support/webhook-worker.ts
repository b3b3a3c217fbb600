/** A worker of webhooks in the process of the test, with the machine's own clock, for receivers on 127.0.0.1. */
import { pino } from 'pino';
import type { DatabaseHandle } from '../../src/database/connect.js';
import type { WorkSignal } from '../../src/events/deliveries/work-signal.js';
import { WebhookSender } from '../../src/events/sending/attempt.js';
import type { SigningKeys } from '../../src/events/signing/webhook-signature.js';
import { outboundRules } from '../../src/outbound/destination.js';
import { GuardedConnections } from '../../src/outbound/guarded-agent.js';
import { systemClock } from '../../src/platform/clock.js';
import { startWebhooks, type RunningWebhooks } from '../../src/webhooks/open-webhooks.js';

/** What every endpoint signs with, unless a test opens other keys. */
export const TEST_SECRET = Buffer.alloc(32, 5);

/** For receivers that respond: an attempt that is given up on a busy machine is made again, and counted. */
const PATIENCE_MS = 20_000;

const rules = outboundRules({ allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'] });
const testKeys = async (): Promise<SigningKeys> => ({ secrets: [TEST_SECRET], privateKeys: [] });

/** Starts one; the caller stops it. */
export function startWorker(
  { db, kind }: DatabaseHandle,
  signal: WorkSignal,
  openKeys: () => Promise<SigningKeys> = testKeys,
  hasMail = false,
): Promise<RunningWebhooks> {
  const connections = new GuardedConnections({ resolve: async () => ['127.0.0.1'], connectTimeoutMs: PATIENCE_MS });
  return startWebhooks({
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
  });
}
