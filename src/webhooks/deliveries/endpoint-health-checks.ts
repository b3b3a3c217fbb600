/** Checks endpoints whose attempts fail. `endpoint-status.ts` warns their accounts or disables the endpoints. */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { countOwnEvents } from '../../outbox/outbox.js';
import type { WorkSignal } from '../../outbox/work-signal.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import { RepeatedRun } from '../../platform/repeated-run.js';
import { disableGone, checkFailing, type Verdicts } from '../management/endpoint-status.js';
import type { AttemptRecord } from './rows/delivery-results.js';
import type { WorkerTimes } from './worker-times.js';

/** Dependencies of `EndpointHealthChecks`. */
export interface EndpointHealthChecksParts {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: WorkSignal;
  readonly times: WorkerTimes;
  /** Reports whether email is configured. */
  readonly hasMail: () => boolean;
}

/**
 * EndpointHealthChecks collects failures and checks their endpoints together, so that a permanently failing endpoint
 * costs little. If this process ends, collected failures are lost. That is harmless, because the next failure causes
 * the same check.
 */
export class EndpointHealthChecks {
  /** IDs of endpoints with failures that were not checked yet. */
  private readonly failed = new Set<string>();
  /** URL that responded with 410, by endpoint ID. */
  private readonly goneUrls = new Map<string, string>();
  private readonly checks: RepeatedRun;

  constructor(private readonly parts: EndpointHealthChecksParts) {
    this.checks = new RepeatedRun(
      () => this.checkEndpoints(),
      parts.times.checkMs,
      () => undefined,
    );
    this.checks.startLater();
  }

  /** Adds recorded failures. If a receiver responded with 410, the check runs immediately. */
  addFailures(records: readonly AttemptRecord[]): void {
    const gone = records.filter(({ outcome }) => outcome.state === 'failed' && outcome.reason === 'gone');
    for (const { delivery } of records) this.failed.add(delivery.endpointId);
    for (const { delivery, url } of gone) this.goneUrls.set(delivery.endpointId, url);
    if (gone.length > 0) this.checks.runNow();
  }

  /** Stops the periodic checks, and runs a last check. Never rejects. */
  async stop(): Promise<void> {
    await this.checks.stop();
    await this.checkEndpoints().catch(() => undefined);
  }

  private async checkEndpoints(): Promise<void> {
    const { db, clock, hasMail } = this.parts;
    const [failed, goneUrls] = [[...this.failed], [...this.goneUrls]];
    this.announce(await disableGone(db, goneUrls, clock.now(), hasMail()));
    for (const [id, url] of goneUrls) if (this.goneUrls.get(id) === url) this.goneUrls.delete(id);
    this.announce(await checkFailing(db, failed, clock.now(), hasMail()));
    for (const id of failed) this.failed.delete(id);
  }

  /** Logs the decisions, and signals the workers. */
  private announce({ verdicts, endpointIds }: Verdicts): void {
    const { log, signal } = this.parts;
    // Each verdict has created an event.
    countOwnEvents(verdicts.length);
    for (const { endpointId, accountId, what, reason } of verdicts) {
      const fields = { endpoint_id: endpointId, account_id: accountId, reason };
      if (what === 'disabled')
        log.warn({ event: 'webhook_endpoint_disabled', ...fields }, 'A webhook endpoint was disabled');
      else log.info({ event: 'webhook_endpoint_failing', ...fields }, 'A webhook endpoint has failed for a day');
    }
    signal.tellChanged(verdicts.filter(({ what }) => what === 'disabled').map(({ endpointId }) => endpointId));
    signal.signalEndpoints(endpointIds);
  }
}
