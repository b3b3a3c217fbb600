/**
 * Knows whether keys with foreign secrets exist: imported secrets in another format than ours. While there are none,
 * such secrets are refused without a lookup, as any text without our checksum is.
 */
import type { Clock } from '../platform/clock.js';
import { unavailable } from './api-key-cache.js';
import type { InvalidationBus } from './api-key.js';

/** How long an answer of the database holds. */
const EXIST_MS = 60_000;
const NONE_EXIST_MS = 1_000;

/** ForeignKeyLookup reads from the database. */
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
    // An import publishes its accounts, so that the first request with an imported secret is let in.
    bus.subscribe(() => {
      if (this.exist !== true) this.checkedAtMs = -Infinity;
    });
  }

  /**
   * Reports whether a foreign secret can belong to a key. Keeps the last answer while the database is unavailable.
   * The promise rejects with `authentication_unavailable` if there is no last answer.
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
    // An import may commit during the query. Its message then makes this answer old.
    this.checkedAtMs = beganMs;
    try {
      const exist = await this.lookup.hasForeignSecrets();
      this.exist = exist;
      return exist;
    } catch (error) {
      if (this.exist === undefined) throw unavailable(error);
      return this.exist;
    }
  }
}
