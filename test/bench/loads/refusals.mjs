/**
 * Load 5: the cost of refusals compared with forwarded requests. Refused clients should not be the more expensive ones.
 */
import { BENCH_LIMITS, newSecret, SCOPE, writeSecrets } from '../keys.mjs';
import { PLAIN_REQUEST } from '../load.mjs';
import { aimLine, COLUMNS, fixed, notesOf, tableOf } from './report.mjs';
import { measureRows } from './rounds.mjs';
import { openScene } from './scene.mjs';

const AIM_SHARE = 0.5;
const FEW_KEYS = 10;
const UNKNOWN_KEYS = 1_000;
const OTHER_SCOPE = 'invoices:read';

const PLANS = {
  minute: { key: { ...BENCH_LIMITS.key, minute: 3 }, account: BENCH_LIMITS.account },
  month: { key: BENCH_LIMITS.key, account: { ...BENCH_LIMITS.account, month: 10 } },
};

export const title = 'Refusals';

export async function measure(settings) {
  const unknown = Array.from({ length: UNKNOWN_KEYS }, newSecret);
  const secretsFile = writeSecrets('unknown-keys.txt', unknown);
  // Changes the last character, which is part of the checksum.
  const malformed = unknown.map((secret) => secret.slice(0, -1) + (secret.endsWith('A') ? 'B' : 'A'));
  const open = await openRefusing('refusals', { failedAuthentication: { perMinute: 0 } });
  const throttled = await openRefusing('refusals-throttled', {});
  // The month counts cannot be read, because the throttle also refuses requests for usage from this address.
  delete throttled.monthTotal;
  const files = { unknown: secretsFile, malformed: writeSecrets('malformed-keys.txt', malformed) };
  const rows = [
    { id: 'forwarded', title: 'forwarded, for comparison', gateway: open, request: PLAIN_REQUEST },
    ...refusalsOf(open, files),
    {
      id: 'throttled',
      title: '429 `too_many_failed_attempts`: unknown keys, the address is throttled',
      gateway: throttled,
      // The first 20 requests per minute get 401, before the throttle refuses the others.
      request: refusal(429, 'too_many_failed_attempts', { secretsFile, sometimes: 401 }),
    },
  ];
  return { rows: await measureRows(rows, settings) };
}

function openRefusing(name, gateway) {
  return openScene({
    name,
    gateway,
    plans: PLANS,
    groups: {
      minute: { count: FEW_KEYS, plan: 'minute', scope: SCOPE },
      month: { count: FEW_KEYS, plan: 'month', scope: SCOPE },
      unscoped: { count: FEW_KEYS, plan: 'bench', scope: OTHER_SCOPE },
    },
    operations: [{ match: 'GET /invoices', service: 'customers', scopes: [OTHER_SCOPE] }],
  });
}

function refusal(status, code, { path = PLAIN_REQUEST.path, limits = false, ...more }) {
  return { path, status, contains: `"code":"${code}"`, limits, ...more };
}

/** Returns the rows of refusals. Keys with a used-up limit sometimes get 200, until the limit is used up again. */
function refusalsOf(gateway, { unknown, malformed }) {
  const { minute, month, unscoped } = gateway.keys;
  const row = (id, text, request) => ({ id, title: text, gateway, request });
  return [
    row('no key', '401 `missing_api_key`', refusal(401, 'missing_api_key', { secretsFile: null })),
    row(
      'malformed',
      '401 `invalid_api_key`: wrong checksum',
      refusal(401, 'invalid_api_key', { secretsFile: malformed }),
    ),
    row('unknown', '401 `invalid_api_key`: unknown key', refusal(401, 'invalid_api_key', { secretsFile: unknown })),
    row('scope', '403 `insufficient_scope`', refusal(403, 'insufficient_scope', { ...unscoped, limits: true })),
    row('route', '404 `route_not_found`', refusal(404, 'route_not_found', { path: '/api/v1/nothing' })),
    row(
      'minute',
      '429 `rate_limited`: minute used up',
      refusal(429, 'rate_limited', { ...minute, limits: true, sometimes: 200 }),
    ),
    row(
      'month',
      '429 `quota_exceeded`: month used up',
      refusal(429, 'quota_exceeded', { ...month, limits: true, sometimes: 200 }),
    ),
  ];
}

export function table({ rows }) {
  const [forwarded, ...refusals] = rows;
  const share = (row) => row.lowestCpu / forwarded.lowestCpu;
  const worst = refusals.toSorted((a, b) => share(b) - share(a))[0];
  return [
    tableOf('answer', rows, { ...COLUMNS, 'against forwarded': (row) => fixed(share(row), 2) }),
    aimLine(
      'a refusal costs less than half of a forwarded request',
      `at most ${fixed(share(worst), 2)} (${worst.title})`,
      share(worst) < AIM_SHARE,
    ),
    ...notesOf(rows),
  ].join('\n\n');
}
