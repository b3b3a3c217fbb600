/** A changed configuration is taken over while the program runs: on SIGHUP, and when its files change. A bad one changes nothing. */
import { systemClock } from './clock.js';
import { formatProblems } from './config/check.js';
import { ConfigWatch } from './config/config-watch.js';
import { loadConfig } from './config/load.js';
import type { RunningConfig } from './config/running-config.js';
import { configSummary } from './config/summary.js';
import type { Logger } from './log.js';
import { METRICS } from './metrics.js';
import { onSignal } from './signals.js';

export class Reload {
  private readonly watch = new ConfigWatch(() => this.asked());
  private underWay: Promise<void> | undefined;
  private again = false;
  private state: 'starting' | 'started' | 'stopped' = 'starting';

  /** Listens at once and to the end, to SIGHUP, which ends a process where nobody does, and for changed files. */
  constructor(
    private readonly config: RunningConfig,
    private readonly log: Logger,
  ) {
    this.watch.follow(config.current);
    onSignal('SIGHUP', () => this.asked());
  }

  /** Takes changes over from now on, also one that came meanwhile. */
  start(): void {
    METRICS.configReloadTime.series().set(nowSeconds());
    this.state = 'started';
    if (!this.again) return;
    this.again = false;
    this.run();
  }

  /** Takes nothing over any more. */
  stop(): void {
    this.state = 'stopped';
    this.watch.stop();
  }

  private asked(): void {
    if (this.state === 'started') this.run();
    else this.again = true;
  }

  /** Loads and takes over; what comes in meanwhile is one more time. */
  private run(): void {
    if (this.underWay !== undefined) {
      this.again = true;
      return;
    }
    this.underWay = this.load().finally(() => {
      this.underWay = undefined;
      if (!this.again || this.state === 'stopped') return;
      this.again = false;
      this.run();
    });
  }

  private async load(): Promise<void> {
    const { path, environment } = this.config.current;
    try {
      const result = await loadConfig(path, environment);
      // What is being taken down takes nothing over.
      if (this.state === 'stopped') return;
      if ('problems' in result) {
        this.watch.follow(this.config.current, result.files);
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
