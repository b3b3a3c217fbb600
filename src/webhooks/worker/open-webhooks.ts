/** Puts the worker of webhooks together. */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { LaneScan } from '../deliveries/lane-scan.js';
import { Lanes } from '../deliveries/lanes.js';
import { notifyWork, WORK_CHANNEL, type WorkSignal } from '../../outbox/work-signal.js';
import type { WebhookSender } from '../sending/attempt.js';
import type { SigningKeys } from '../signing/webhook-signature.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import type { ReadsGauges } from '../../platform/metrics-text.js';
import { watchBacklog } from './backlog-gauges.js';
import { Crew } from './crew.js';
import { Judge } from './judge.js';
import { isDeadOwner, ownerName, placeOfProcess } from './lane-owner.js';
import { Listener } from './listener.js';
import { WebhookGauges } from './webhook-gauges.js';
import { WebhookWorker } from './worker.js';
import { WORKER_TIMES, type WorkerTimes } from './worker-times.js';

/** What webhooks are delivered with. */
export interface WebhooksParts {
  readonly db: Kysely<Tables>;
  readonly kind: 'sqlite' | 'postgres';
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: WorkSignal;
  readonly sender: WebhookSender;
  /** For each endpoint its keys, or why they do not open. */
  readonly openKeys: (endpointIds: readonly string[], nowMs: number) => Promise<readonly (SigningKeys | Error)[]>;
  readonly timeoutMs: () => number;
  /** Whether owners of an account can be told by mail. */
  readonly hasMail: () => boolean;
  /** Of PostgreSQL. */
  readonly databaseUrl: string | undefined;
  /** Whether no other process can work on the same database. */
  readonly isAlone: boolean;
  readonly times?: WorkerTimes;
}

/** Webhooks that are delivered. */
export interface RunningWebhooks {
  /** What a scrape reads. */
  readonly gauges: ReadsGauges;
  /** Begins no more attempts. */
  rest(): void;
  /** Waits for those under way, at most so long, and leaves the rest to others. */
  stop(patienceMs: number): Promise<void>;
}

/** Begins to deliver. */
export async function startWebhooks(parts: WebhooksParts): Promise<RunningWebhooks> {
  const { db, kind, clock, log, signal, databaseUrl, isAlone, times = WORKER_TIMES } = parts;
  const place = placeOfProcess();
  const lanes = new Lanes(db, kind, clock, ownerName(place));
  const endDead = () => lanes.endDead((owner) => isDeadOwner(owner, place));
  // What a process that was killed had in hand is taken up at once where nobody else can have it.
  if (isAlone) await lanes.endOthers();
  // Where it fails, the leases end by themselves.
  else await endDead().catch(() => undefined);
  const judge = new Judge({ ...parts, times });
  const crew = new Crew({ ...parts, onFailed: (failed, goneUrls) => judge.look(failed, goneUrls) });
  const hears = { isUp: databaseUrl === undefined };
  const worker = new WebhookWorker({
    db,
    lanes,
    scan: new LaneScan(db, clock),
    crew,
    log,
    times,
    isTold: () => hears.isUp,
    endDead,
  });
  const unfollow = signal.follow((told, changed) => worker.tell(told, changed));
  const listener =
    databaseUrl === undefined
      ? undefined
      : new Listener({
          databaseUrl,
          channel: WORK_CHANNEL,
          notify: (message) => notifyWork(db, message),
          onMessage: (message) => signal.hear(message),
          onUp: () => {
            hears.isUp = true;
            worker.tell('all');
          },
          onDown: () => (hears.isUp = false),
          log,
        });
  void listener?.start();
  worker.start();
  const backlog = watchBacklog(db, clock);
  return {
    gauges: new WebhookGauges(worker, clock, listener === undefined ? undefined : () => hears.isUp),
    rest: () => worker.rest(),
    stop: async (patienceMs) => {
      unfollow();
      await Promise.all([listener?.stop(), backlog.stop(), worker.stop(patienceMs)]);
      await judge.stop();
    },
  };
}
