/**
 * Forgets what the authorization server kept and whose time is over. Anybody may begin a request, so that what is left
 * of those that nobody finished must not grow for a day. Belongs to the worker role; any number may do it at once.
 */
import type { Logger } from '../platform/log.js';
import type { OAuthObjects } from './oauth-objects.js';

/** As long as a person may take for a request. */
const INTERVAL_MS = 600_000;

/** ObjectSweep looks after it. */
export class ObjectSweep {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private isStopped = false;

  constructor(
    private readonly objects: Pick<OAuthObjects, 'forgetExpired'>,
    private readonly log: Pick<Logger, 'warn'>,
    private readonly intervalMs: number = INTERVAL_MS,
  ) {}

  /** Sweeps now, and every ten minutes. */
  start(): void {
    this.timer = setInterval(() => this.runOnce(), this.intervalMs).unref();
    this.runOnce();
  }

  /** Resolves when nothing of it runs any more. Never rejects. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearInterval(this.timer);
    await this.running;
  }

  private runOnce(): void {
    this.running ??= this.objects
      .forgetExpired()
      .then(() => undefined)
      .catch((error: unknown) => {
        if (this.isStopped) return;
        this.log.warn(
          { event: 'oauth_sweep_failed', err: error },
          'Old requests of OAuth clients were not forgotten; tried again in ten minutes',
        );
      })
      .finally(() => (this.running = undefined));
  }
}
