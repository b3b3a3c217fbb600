/** The base of every room of the program: configuration, database, clock and log, and the lists a room adds itself to. */
import type { RunningConfig } from './running-config.js';
import type { Clock } from '../platform/clock.js';
import type { Log } from '../platform/log.js';
import type { ReadsGauges } from '../platform/metrics-text.js';
import type { Shutdown } from '../platform/shutdown.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { SecretBox } from '../stores/secrets/secret-box.js';

/**
 * Ground is what the `open` function of a room takes. A room follows a changed configuration by `config.onChange`, adds
 * its gauges, and adds what must be taken down at the end: last opened, first closed.
 */
export interface Ground {
  readonly config: RunningConfig;
  readonly database: DatabaseHandle;
  /** Encrypts secrets that must be read again. Null in a process that has no such secrets, or no key for them. */
  readonly secretBox: SecretBox | null;
  readonly clock: Clock;
  readonly log: Log;
  /** Gauges that a scrape reads. */
  readonly gauges: ReadsGauges[];
  readonly shutdown: Shutdown;
}
