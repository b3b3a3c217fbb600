/** What `/readyz` says of this process and of what it stands on. */
import type { Readiness, ReadinessCheck } from './admin/admin-dependencies.js';
import type { DatabaseHandle } from './database/connect.js';
import type { Forwarder } from './proxy/forwarder.js';
import type { Quotas } from './quotas/open-quotas.js';
import { formatWithOffset } from './rfc3339.js';
import type { Shutdown } from './shutdown.js';
import type { WorkerPool } from './workers/worker-pool.js';

/**
 * Ready until the shutdown begins, or while workers are asked for and none is there; whatever else is wrong is a warning.
 * @param pool undefined: the gateway runs in this process, or not at all.
 * @param forwarder undefined: this process forwards nothing.
 */
export async function readiness(
  shutdown: Shutdown,
  database: DatabaseHandle,
  quotas: Quotas,
  pool: WorkerPool | undefined,
  forwarder: Forwarder | undefined,
): Promise<Readiness> {
  const databaseUp = await database.healthy();
  const workers = pool?.state;
  return {
    ready: !shutdown.hasBegun && workers?.ready !== 0,
    checks: {
      process: shutdown.hasBegun ? { status: 'fail', detail: 'shutting down' } : { status: 'pass' },
      database: databaseUp
        ? { status: 'pass' }
        : { status: 'warn', detail: 'unreachable: known keys go on, unknown keys and the admin API get 503' },
      quota_store: quotaStoreCheck(quotas.storage.lostSinceMs),
      ...(workers === undefined ? {} : { workers: workersCheck(workers) }),
      ...(forwarder === undefined ? {} : { backends: backendsCheck(forwarder.unavailable()) }),
    },
  };
}

function quotaStoreCheck(lostSinceMs: number | undefined): ReadinessCheck {
  if (lostSinceMs === undefined) return { status: 'pass' };
  const since = formatWithOffset(lostSinceMs, 'UTC');
  return { status: 'warn', detail: `Redis is lost since ${since}: plans decide by onRedisLoss` };
}

function workersCheck({ ready, count }: WorkerPool['state']): ReadinessCheck {
  if (ready === count) return { status: 'pass' };
  return { status: ready === 0 ? 'fail' : 'warn', detail: `${ready} of ${count} worker processes accept connections` };
}

function backendsCheck(unavailable: readonly string[]): ReadinessCheck {
  if (unavailable.length === 0) return { status: 'pass' };
  return { status: 'warn', detail: `no target is in service: ${unavailable.join(', ')}` };
}
