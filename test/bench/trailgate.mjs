/** Defines and starts Trailgate's rows of the table. Creates the keys through the admin API, as an operator does. */
import { ACCOUNTS, BENCH_LIMITS, KEYS_PER_ACCOUNT, SCOPE, TINY_LIMITS, writeSecrets } from './keys.mjs';
import { startRedis } from './redis.mjs';
import { configuration, monthTotal, startTrailgate, usage } from './trailgate-program.mjs';

/** Number of accounts that are filled with keys concurrently. */
const PARALLEL_CALLS = 8;

/** Scope of another operation, for a key that lacks the required scope. */
const OTHER_SCOPE = 'invoices:read';

const DOES_ALL = { keyed: true, scoped: true, limits: true };

/** Trailgate's rows: without log lines of successful requests, and with one log line per request. */
export const TRAILGATES = [
  { id: 'trailgate', title: '**Trailgate**', ...DOES_ALL, start: (context) => start(context, 'trailgate', 'warn') },
  {
    id: 'trailgate-logging',
    title: 'Trailgate, one log line a request (to a file)',
    ...DOES_ALL,
    start: (context) => start(context, 'trailgate-logging', 'info'),
  },
];

async function start({ backend }, name, logLevel) {
  const redis = await startRedis(name);
  const config = configuration({
    services: { customers: { targets: [backend.url] } },
    operations: [
      { match: 'GET /customers', service: 'customers', scopes: [SCOPE] },
      { match: 'GET /echo', service: 'customers', scopes: [SCOPE] },
      { match: 'GET /invoices', service: 'customers', scopes: [OTHER_SCOPE] },
    ],
    plans: { bench: BENCH_LIMITS, tiny: TINY_LIMITS },
  });
  const { post, ...gateway } = await startTrailgate({ name, config, redisUrl: redis.url, logLevel });
  const keys = await makeKeys(name, post);
  return {
    ...gateway,
    redis,
    ...keys,
    counters: async () => (await usage(gateway.url, keys.secrets[0])).map(({ used }) => used),
    monthTotal: () => monthTotal(gateway.url, keys.oneOfEachAccount),
  };
}

async function makeKeys(name, post) {
  const account = async (plan) => (await post('accounts', { name: `Rafting ${plan}`, plan })).id;
  const key = async (id, scope) => (await post(`accounts/${id}/api-keys`, { name: 'bench', scopes: [scope] })).secret;
  const secrets = [];
  const oneOfEachAccount = [];
  for (let made = 0; made < ACCOUNTS; made += PARALLEL_CALLS) {
    const some = Array.from({ length: Math.min(PARALLEL_CALLS, ACCOUNTS - made) }, async () => {
      const id = await account('bench');
      const own = [];
      for (let i = 0; i < KEYS_PER_ACCOUNT; i++) own.push(await key(id, SCOPE));
      secrets.push(...own);
      oneOfEachAccount.push(own[0]);
    });
    await Promise.all(some);
  }
  return {
    secrets,
    oneOfEachAccount,
    secretsFile: writeSecrets(`${name}-keys.txt`, secrets),
    unscoped: await key(await account('bench'), OTHER_SCOPE),
    tiny: await key(await account('tiny'), SCOPE),
  };
}
