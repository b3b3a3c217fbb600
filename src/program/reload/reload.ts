/**
 * Reloads the configuration on SIGHUP and when its files change. An invalid configuration changes nothing.
 */
import type { Clock } from '../../platform/clock.js';
import { ConfigWatch } from '../../config/config-watch.js';
import { fixedSettings } from '../../config/fixed-settings.js';
import type { RunningConfig } from '../../config/running-config.js';
import type { Logger } from '../../platform/log.js';
import { onSignal } from '../../platform/signals.js';
import type { CheckRequest } from './check-messages.js';
import { ConfigCheck, type CheckResult } from './config-check.js';
import { Takeover } from './takeover.js';

export class Reload {
  private readonly watch = new ConfigWatch(() => this.asked());
  private readonly check = new ConfigCheck();
  private readonly takeover: Takeover;
  private port: number | undefined;
  private underWay: Promise<void> | undefined;
  private again = false;
  private state: 'starting' | 'started' | 'stopped' = 'starting';

  /**
   * Listens for SIGHUP and changed files. Without a listener, SIGHUP would end the process.
   * @param describes whether the public description is needed.
   */
  constructor(
    private readonly config: RunningConfig,
    private readonly describes: boolean,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {
    this.takeover = new Takeover(config, clock, log);
    this.watch.follow(config.current);
    onSignal('SIGHUP', () => this.asked());
  }

  /**
   * Starts applying changes, including one since the constructor.
   * @param port the bound port of the public listener, which the configuration may leave to the system.
   */
  start(port = this.config.current.file.gateway.port): void {
    this.port = port;
    this.takeover.started();
    this.state = 'started';
    if (!this.again) return;
    this.again = false;
    this.run();
  }

  /** Stops applying changes. */
  stop(): void {
    this.state = 'stopped';
    this.watch.stop();
    this.check.stop();
  }

  private asked(): void {
    if (this.state === 'started') this.run();
    else this.again = true;
  }

  /** Loads and applies the configuration. Repeats once if changes arrive meanwhile. */
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
    const sinceMs = this.clock.now();
    const result = await this.check.run(this.request());
    // The program is shutting down.
    if (this.state === 'stopped') return;
    if (result.kind === 'refused') {
      this.watch.follow(this.config.current, sinceMs, result.files);
      this.takeover.refused(result.problems);
    } else await this.take(result, sinceMs);
  }

  private request(): CheckRequest {
    const { path, environment, file } = this.config.current;
    const { port = file.gateway.port, describes } = this;
    return { path, environment, fixed: fixedSettings({ ...file, gateway: { ...file.gateway, port } }), describes };
  }

  private async take(result: Extract<CheckResult, { kind: 'valid' }>, sinceMs: number): Promise<void> {
    const needRestart = await this.takeover.take(result, () => this.state !== 'stopped');
    if (needRestart === undefined) return;
    this.watch.follow(this.config.current, sinceMs);
    for (const message of result.warnings) this.log.warn({ event: 'config_warning' }, message);
    if (needRestart.length === 0) return;
    this.log.warn({ event: 'config_needs_restart', settings: needRestart }, 'Some changes count after a restart only');
  }
}
