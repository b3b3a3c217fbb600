/** Applies checked configurations, and reports the results in the log and in metrics. */
import type { Clock } from '../../platform/clock.js';
import type { NextConfig, RunningConfig } from '../../config/running-config.js';
import { configSummary } from '../../config/summary.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';

export class ConfigActivation {
  constructor(
    readonly config: RunningConfig,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /** Records that the initial configuration is in effect. */
  recordStart(): void {
    this.recordChange();
  }

  /**
   * Applies a configuration. Never rejects. A configuration that cannot be prepared is refused.
   * @param isWanted called just before the configuration is applied. If it returns false, nothing changes.
   * @returns changed settings that need a restart. Undefined if the configuration was not applied.
   */
  async applyConfig(next: NextConfig, isWanted: () => boolean): Promise<string[] | undefined> {
    try {
      const needRestart = await this.config.replace(next, isWanted);
      if (needRestart === undefined) return undefined;
      METRICS.configReloads.series('applied').inc();
      this.recordChange();
      const summary = configSummary(this.config.current);
      this.log.info({ event: 'config_changed', ...summary }, 'The configuration is in force');
      return needRestart;
    } catch (error) {
      this.reportRefusal(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  /**
   * Reports that a changed configuration was refused.
   * @param problems text for the operator
   */
  reportRefusal(problems: string): void {
    METRICS.configReloads.series('refused').inc();
    METRICS.configRefused.series().set(1);
    this.log.error(
      { event: 'config_refused', problems },
      'The changed configuration has problems; the one in force stays',
    );
  }

  private recordChange(): void {
    METRICS.configRefused.series().set(0);
    METRICS.configReloadTime.series().set(Math.floor(this.clock.now() / 1_000));
  }
}
