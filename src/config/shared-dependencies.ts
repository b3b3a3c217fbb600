/**
 * Defines the dependencies that the program's modules share: configuration, database, clock and log. Modules add their
 * gauges and shutdown phases to two shared lists.
 */
import type { RunningConfig } from './running-config.js';
import type { Clock } from '../platform/clock.js';
import type { Log } from '../platform/log.js';
import type { ReadsGauges } from '../platform/collect-metrics.js';
import type { Shutdown } from '../platform/shutdown.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { SecretBox } from '../stores/secrets/secret-box.js';

/**
 * SharedDependencies holds the dependencies that the `open` function of a module receives. A module follows
 * configuration changes with `config.onChange`. It adds its gauges to `gauges` and its cleanup to `shutdown`. Shutdown
 * closes modules in reverse order of their start.
 */
export interface SharedDependencies {
  readonly config: RunningConfig;
  readonly database: DatabaseHandle;
  /**
   * Encrypts secrets that the program must be able to decrypt. Null if this process has no such secrets, or no key for
   * them.
   */
  readonly secretBox: SecretBox | null;
  readonly clock: Clock;
  readonly log: Log;
  /** Gauges whose values are read at each metrics scrape. */
  readonly gauges: ReadsGauges[];
  readonly shutdown: Shutdown;
}
