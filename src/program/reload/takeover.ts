/** A configuration that has been checked becomes the one in force, and everybody learns of it. */
import type { Clock } from '../../platform/clock.js';
import type { NextConfig, RunningConfig } from '../../config/running-config.js';
import { configSummary } from '../../config/summary.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';

export class Takeover {
  constructor(
    readonly config: RunningConfig,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /** The one of the start is in force since now. */
  started(): void {
    this.noteChange();
  }

  /**
   * Puts it in force. Never rejects: one that cannot be made ready is refused.
   * @param isWanted asked at the last moment.
   * @returns settings that only count after a restart; undefined where it is not in force.
   */
  async take(next: NextConfig, isWanted: () => boolean): Promise<string[] | undefined> {
    try {
      const needRestart = await this.config.replace(next, isWanted);
      if (needRestart === undefined) return undefined;
      METRICS.configReloads.series('applied').inc();
      this.noteChange();
      const summary = configSummary(this.config.current);
      this.log.info({ event: 'config_changed', ...summary }, 'The configuration is in force');
      return needRestart;
    } catch (error) {
      this.refused(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  /** Says that a change is not taken over, and why. */
  refused(problems: string): void {
    METRICS.configReloads.series('refused').inc();
    METRICS.configRefused.series().set(1);
    this.log.error(
      { event: 'config_refused', problems },
      'The changed configuration has problems; the one in force stays',
    );
  }

  private noteChange(): void {
    METRICS.configRefused.series().set(0);
    METRICS.configReloadTime.series().set(Math.floor(this.clock.now() / 1_000));
  }
}
