/** A changed configuration is taken over while the program runs: on SIGHUP, and when its files change. A bad one changes nothing. */
import { systemClock } from './clock.js';
import { formatProblems } from './config/check.js';
import { ConfigWatch } from './config/config-watch.js';
import { loadConfig } from './config/load.js';
import type { RunningConfig } from './config/running-config.js';
import { configSummary } from './config/summary.js';
import type { Logger } from './log.js';
import { METRICS } from './metrics.js';

export class Reload {
  private readonly watch = new ConfigWatch(() => this.run());
  private underWay: Promise<void> | undefined;
  private again = false;

  constructor(
    private readonly config: RunningConfig,
    private readonly log: Logger,
  ) {}

  /** Follows the files and SIGHUP from now on. */
  start(): void {
    METRICS.configReloadTime.series().set(nowSeconds());
    this.watch.follow(this.config.current);
    process.on('SIGHUP', this.onSignal);
  }

  stop(): void {
    process.off('SIGHUP', this.onSignal);
    this.watch.stop();
  }

  private readonly onSignal = (): void => this.run();

  /** Loads and takes over; what comes in meanwhile is one more time. */
  private run(): void {
    if (this.underWay !== undefined) {
      this.again = true;
      return;
    }
    this.underWay = this.load().finally(() => {
      this.underWay = undefined;
      if (!this.again) return;
      this.again = false;
      this.run();
    });
  }

  private async load(): Promise<void> {
    const { path, environment } = this.config.current;
    try {
      const result = await loadConfig(path, environment);
      if ('problems' in result) {
        this.refused(formatProblems(result.problems));
        return;
      }
      const needRestart = this.config.replace(result.config);
      this.watch.follow(this.config.current);
      METRICS.configReloads.series('applied').inc();
      METRICS.configReloadTime.series().set(nowSeconds());
      this.log.info(
        { event: 'config_changed', ...configSummary(this.config.current) },
        'The configuration is in force',
      );
      for (const { message } of result.warnings) this.log.warn({ event: 'config_warning' }, message);
      if (needRestart.length === 0) return;
      this.log.warn(
        { event: 'config_needs_restart', settings: needRestart },
        'Some changes count after a restart only',
      );
    } catch (error) {
      this.refused(error instanceof Error ? error.message : String(error));
    }
  }

  private refused(problems: string): void {
    METRICS.configReloads.series('refused').inc();
    this.log.error(
      { event: 'config_refused', problems },
      'The changed configuration has problems; the one in force stays',
    );
  }
}

function nowSeconds(): number {
  return Math.floor(systemClock.now() / 1_000);
}
