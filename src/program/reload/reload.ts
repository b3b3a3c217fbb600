/** Reloads the configuration on SIGHUP and when its files change. An invalid configuration changes nothing. */
import type { Clock } from '../../platform/clock.js';
import { ConfigWatch } from '../../config/config-watch.js';
import { fixedSettings } from '../../config/fixed-settings.js';
import type { RunningConfig } from '../../config/running-config.js';
import type { Logger } from '../../platform/log.js';
import { onSignal } from '../../platform/signals.js';
import type { CheckRequest } from './check-messages.js';
import { ConfigCheck, type CheckResult } from './config-check.js';
import { ConfigActivation } from './config-activation.js';

export class Reload {
  private readonly watch = new ConfigWatch(() => this.requestReload());
  private readonly check = new ConfigCheck();
  private readonly activation: ConfigActivation;
  private port: number | undefined;
  private running: Promise<void> | undefined;
  private isChangePending = false;
  private state: 'starting' | 'started' | 'stopped' = 'starting';

  /**
   * Starts to listen for SIGHUP and changed files. Applies changes only after `start`. Without a listener, SIGHUP would
   * end the process.
   * @param describes whether this program serves the public API description
   */
  constructor(
    private readonly config: RunningConfig,
    private readonly describes: boolean,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {
    this.activation = new ConfigActivation(config, clock, log);
    this.watch.follow(config.current);
    onSignal('SIGHUP', () => this.requestReload());
  }

  /**
   * Starts applying changes, including a change since the constructor.
   * @param port the bound port of the public listener, because the configuration may leave the port to the system
   */
  start(port = this.config.current.file.gateway.port): void {
    this.port = port;
    this.activation.recordStart();
    this.state = 'started';
    if (!this.isChangePending) return;
    this.isChangePending = false;
    this.run();
  }

  /** Stops applying changes. */
  stop(): void {
    this.state = 'stopped';
    this.watch.stop();
    this.check.stop();
  }

  private requestReload(): void {
    if (this.state === 'started') this.run();
    else this.isChangePending = true;
  }

  /** Loads and applies the configuration. During a reload, records that another reload must follow. */
  private run(): void {
    if (this.running !== undefined) {
      this.isChangePending = true;
      return;
    }
    this.running = this.load().finally(() => {
      this.running = undefined;
      if (!this.isChangePending || this.state === 'stopped') return;
      this.isChangePending = false;
      this.run();
    });
  }

  private async load(): Promise<void> {
    const sinceMs = this.clock.now();
    const result = await this.check.run(this.request());
    // The program began to shut down during the check.
    if (this.state === 'stopped') return;
    if (result.kind === 'refused') {
      this.watch.follow(this.config.current, sinceMs, result.files);
      this.activation.reportRefusal(result.problems);
    } else await this.applyResult(result, sinceMs);
  }

  private request(): CheckRequest {
    const { path, environment, file } = this.config.current;
    const { port = file.gateway.port, describes } = this;
    return { path, environment, fixed: fixedSettings({ ...file, gateway: { ...file.gateway, port } }), describes };
  }

  private async applyResult(result: Extract<CheckResult, { kind: 'valid' }>, sinceMs: number): Promise<void> {
    const needRestart = await this.activation.applyConfig(result, () => this.state !== 'stopped');
    if (needRestart === undefined) return;
    this.watch.follow(this.config.current, sinceMs);
    for (const message of result.warnings) this.log.warn({ event: 'config_warning' }, message);
    if (needRestart.length === 0) return;
    this.log.warn(
      { event: 'config_needs_restart', settings: needRestart },
      'Some changes take effect only after a restart',
    );
  }
}
