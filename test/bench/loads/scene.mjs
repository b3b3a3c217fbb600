/** Setup of a load: a backend, a Redis, API keys and the program. */
import { startBackend } from '../backend.mjs';
import { BENCH_LIMITS, SCOPE } from '../keys.mjs';
import { startRedis } from '../redis.mjs';
import { configuration, monthTotal, startTrailgate } from '../trailgate-program.mjs';
import { writeKeys } from './key-rows.mjs';

/** Default keys of a load, as many as in `npm run bench`. */
const PLAIN_KEYS = { count: 1_000, plan: 'bench', scope: SCOPE };

/**
 * Starts a backend, a Redis and the program with API keys. `stopAll` stops them.
 * @param {{ name: string, groups?: Record<string, { count: number, plan: string, scope: string }>,
 *   operations?: object[], plans?: object, service?: object, gateway?: object, usage?: object, backend?: object,
 *   counters?: 'redis' | 'own' }} options `groups`: keys by group; `operations` to `usage`: settings in `gateway.yaml`;
 *   `backend`: additional nginx configuration; `counters`: `own` for no Redis. Other options are for `startTrailgate`.
 * @returns {Promise<import('../peers.mjs').Gateway & { backend: object, keys: object }>} a gateway for `measureRound`,
 *   which uses the keys of the group `plain`; `keys` has the keys of all groups
 */
export async function openScene({
  name,
  groups,
  operations = [],
  plans = {},
  service,
  gateway,
  usage,
  backend: more,
  counters = 'redis',
  ...start
}) {
  const backend = await startBackend(name, more);
  const redis = counters === 'redis' ? await startRedis(name) : undefined;
  const keys = {};
  const fill = async (dataDir) => {
    for (const [group, options] of Object.entries({ plain: PLAIN_KEYS, ...groups })) {
      keys[group] = await writeKeys({ dataDir, name: `${name}-${group}`, ...options });
    }
  };
  const config = configuration({
    gateway,
    ...(usage === undefined ? {} : { usage }),
    services: { customers: { targets: [backend.url], ...service } },
    operations: [{ match: 'GET /customers', service: 'customers', scopes: [SCOPE] }, ...operations],
    plans: { bench: BENCH_LIMITS, ...plans },
  });
  const started = await startTrailgate({ name, config, redisUrl: redis?.url ?? '', fill, ...start });
  const oneOfEachAccount = Object.values(keys).flatMap((group) => group.oneOfEachAccount);
  return {
    ...started,
    id: name,
    limits: true,
    backend,
    redis,
    keys,
    secretsFile: keys.plain.secretsFile,
    monthTotal: () => monthTotal(started.url, oneOfEachAccount),
  };
}
