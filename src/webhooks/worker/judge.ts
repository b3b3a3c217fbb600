/** Judges endpoints whose attempts have failed: gathered, so that one that fails all the time costs little. */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import type { WorkSignal } from '../../outbox/work-signal.js';
import { countOwnEvents } from '../../outbox/outbox.js';
import { disableGone, judgeFailing, type Verdicts } from '../management/endpoint-status.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import { Rounds } from './rounds.js';
import type { WorkerTimes } from './worker-times.js';

/** What it judges with. */
export interface JudgeParts {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: WorkSignal;
  readonly times: WorkerTimes;
  /** Whether mail is sent. */
  readonly hasMail: () => boolean;
}

/** Judge remembers whom to look at. Who is forgotten with the process is seen at the next failure. */
export class Judge {
  private readonly failed = new Set<string>();
  private readonly goneUrls = new Map<string, string>();
  private readonly rounds: Rounds;

  constructor(private readonly parts: JudgeParts) {
    this.rounds = new Rounds(
      () => this.judge(),
      () => parts.times.judgeMs,
      () => undefined,
    );
    this.rounds.start();
  }

  /** Attempts at these have failed; what some of their URLs led to is gone, which is judged at once. */
  look(failed: ReadonlySet<string>, goneUrls: ReadonlyMap<string, string>): void {
    for (const id of failed) this.failed.add(id);
    for (const [id, url] of goneUrls) this.goneUrls.set(id, url);
    if (goneUrls.size > 0) this.rounds.now();
  }

  /** Judges what is left, once. Never rejects. */
  async stop(): Promise<void> {
    await this.rounds.stop();
    await this.judge().catch(() => undefined);
  }

  private async judge(): Promise<void> {
    const { db, clock, hasMail } = this.parts;
    const [failed, goneUrls] = [[...this.failed], [...this.goneUrls]];
    this.tell(await disableGone(db, goneUrls, clock.now(), hasMail()));
    for (const [id, url] of goneUrls) if (this.goneUrls.get(id) === url) this.goneUrls.delete(id);
    this.tell(await judgeFailing(db, failed, clock.now(), hasMail()));
    for (const id of failed) this.failed.delete(id);
  }

  private tell({ verdicts, endpointIds }: Verdicts): void {
    const { log, signal } = this.parts;
    // Each of them is an event.
    countOwnEvents(verdicts.length);
    for (const { endpointId, accountId, what, reason } of verdicts) {
      const fields = { endpoint_id: endpointId, account_id: accountId, reason };
      if (what === 'disabled')
        log.warn({ event: 'webhook_endpoint_disabled', ...fields }, 'A webhook endpoint was disabled');
      else
        log.info(
          { event: 'webhook_endpoint_failing', ...fields },
          'Nothing has arrived at a webhook endpoint for a day',
        );
    }
    signal.tellChanged(verdicts.filter(({ what }) => what === 'disabled').map(({ endpointId }) => endpointId));
    signal.tell(endpointIds);
  }
}
