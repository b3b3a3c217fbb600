/** Opens the parts that authenticate API keys: lookup, cache, invalidation bus and last uses. */
import type { SharedDependencies } from '../config/shared-dependencies.js';
import type { Clock } from '../platform/clock.js';
import type { Logger } from '../platform/log.js';
import type { ReadsGauges } from '../platform/collect-metrics.js';
import { connectRedis, connectSubscriber } from '../stores/redis/connect.js';
import type { ApiKeyRecord, InvalidationBus } from './api-key.js';
import { ApiKeyCache } from './api-key-cache.js';
import { DatabaseKeyLookup } from './api-key-lookup.js';
import { Authenticator } from './authenticator.js';
import { CachedKeyFactory, type CachedKey } from './cached-key.js';
import { ForeignKeys } from './foreign-keys.js';
import { LastUsed } from './last-used.js';
import { ProcessBus } from './process-bus.js';
import { RedisBus } from './redis-bus.js';
import { ScopeSets } from './scopes.js';

/** Keys provides authentication to the request path and to key management. */
export interface Keys {
  readonly authenticator: Authenticator;
  readonly bus: InvalidationBus;
  /** Builds a cached key from a record. See `ApiKeyCache.build`. */
  build(record: ApiKeyRecord): CachedKey;
}

/**
 * Opens the key cache and the bus, and registers their shutdown.
 * @param redisUrl see `connectRedis`. If undefined, this process does not receive changes by other processes.
 */
export function openKeys(
  { config, database, clock, log, gauges, shutdown }: SharedDependencies,
  redisUrl: string | undefined,
): Keys {
  const { environment, file } = config.current;
  // An SQLite database without Redis is locked to one process. A PostgreSQL database without Redis may be changed by
  // other processes.
  const hearsAll = environment.databaseUrl === undefined || environment.redisUrl !== undefined;
  const {
    bus,
    close,
    gauges: ofBus,
  } = redisUrl === undefined ? processBus(hearsAll) : redisBus(redisUrl, hearsAll, clock, log.logger);
  const lookup = new DatabaseKeyLookup(database.db, database.kind);
  const factory = new CachedKeyFactory(file.plans, new ScopeSets(), log.logger);
  const cache = new ApiKeyCache(lookup, factory, bus, clock);
  const lastUsed = new LastUsed(lookup, log.logger);
  lastUsed.start();
  gauges.push(cache, ...ofBus);
  shutdown.add('flush keys', async () => {
    await lastUsed.stop();
    close();
  });
  config.onChange(
    ({ config: next }) =>
      () =>
        factory.replacePlans(next.file.plans),
  );
  return {
    authenticator: new Authenticator(cache, new ForeignKeys(lookup, bus, clock), lastUsed, clock),
    bus,
    build: (record) => cache.build(record),
  };
}

/** OpenBus is the invalidation bus with its gauges and the function that closes it. */
interface OpenBus {
  readonly bus: InvalidationBus;
  readonly gauges: readonly ReadsGauges[];
  close(): void;
}

function processBus(alone: boolean): OpenBus {
  return { bus: new ProcessBus(alone), gauges: [], close: () => undefined };
}

function redisBus(redisUrl: string, hearsAll: boolean, clock: Clock, log: Logger): OpenBus {
  const publisher = connectRedis(redisUrl, 'publisher', log);
  const subscriber = connectSubscriber(redisUrl, log);
  const bus = new RedisBus(publisher, subscriber, clock, log, hearsAll);
  bus.start();
  return {
    bus,
    gauges: [bus],
    close: () => {
      bus.stop();
      publisher.disconnect();
      subscriber.disconnect();
    },
  };
}
