/**
 * Caches whether any key has a foreign secret: an imported secret in the format of another system. While no key has
 * one, such secrets are refused without a lookup, like any text without a valid checksum.
 */
import type { Clock } from '../platform/clock.js';
import { keyLookupUnavailable } from './api-key-cache.js';
import type { InvalidationBus } from './api-key.js';

/** How long a result of the database is cached, in ms: if there are foreign secrets, and if there are none. */
const EXIST_MS = 60_000;
const NONE_EXIST_MS = 1_000;

/** ForeignKeyLookup queries the database whether any key has a foreign secret. */
export interface ForeignKeyLookup {
  hasForeignSecrets(): Promise<boolean>;
}

export class ForeignKeys {
  private exist: boolean | undefined;
  private checkedAtMs = -Infinity;
  private checking: Promise<boolean> | undefined;

  constructor(
    private readonly lookup: ForeignKeyLookup,
    bus: InvalidationBus,
    private readonly clock: Clock,
  ) {
    // An import publishes its accounts. Checking again lets the first request with an imported secret succeed.
    bus.subscribe(() => {
      if (this.exist !== true) this.checkedAtMs = -Infinity;
    });
  }

  /**
   * Reports whether any key has a foreign secret. Uses the last result while the database is unavailable. The promise
   * rejects with `authentication_unavailable` if there is no last result.
   */
  mayExist(): boolean | Promise<boolean> {
    const ageMs = this.clock.now() - this.checkedAtMs;
    const isFresh = ageMs >= 0 && ageMs < (this.exist === true ? EXIST_MS : NONE_EXIST_MS);
    if (this.exist !== undefined && isFresh) return this.exist;
    this.checking ??= this.check().finally(() => (this.checking = undefined));
    return this.checking;
  }

  private async check(): Promise<boolean> {
    const beganMs = this.clock.now();
    // Set the time before the query. An import may commit during the query, and its message must then invalidate the
    // result.
    this.checkedAtMs = beganMs;
    try {
      const exist = await this.lookup.hasForeignSecrets();
      this.exist = exist;
      return exist;
    } catch (error) {
      if (this.exist === undefined) throw keyLookupUnavailable(error);
      return this.exist;
    }
  }
}
