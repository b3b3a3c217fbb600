/**
 * Forgets what the authorization server kept and whose time is over. Anybody may begin a request, so that what is left
 * of those that nobody finished must not grow for a day. Belongs to the worker role; any number may do it at once.
 */
import type { Logger } from '../../platform/log.js';
import { RepeatedRun } from '../../platform/repeated-run.js';
import type { OAuthObjects } from './oauth-objects.js';

/** As long as a person may take for a request. */
const INTERVAL_MS = 600_000;

/** ObjectSweep looks after it. */
export class ObjectSweep {
  private readonly runs: RepeatedRun;

  constructor(
    objects: Pick<OAuthObjects, 'forgetExpired'>,
    private readonly log: Pick<Logger, 'warn'>,
    intervalMs: number = INTERVAL_MS,
  ) {
    this.runs = new RepeatedRun(
      () => objects.forgetExpired(),
      intervalMs,
      (error) => this.warn(error),
    );
  }

  /** Sweeps now, and every ten minutes. */
  start(): void {
    this.runs.start();
  }

  /** Resolves when nothing of it runs any more. Never rejects. */
  stop(): Promise<void> {
    return this.runs.stop();
  }

  private warn(error: unknown): void {
    if (this.runs.isStopped) return;
    this.log.warn(
      { event: 'oauth_sweep_failed', err: error },
      'Old requests of OAuth clients were not forgotten; tried again in ten minutes',
    );
  }
}
