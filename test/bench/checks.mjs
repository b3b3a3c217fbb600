/** Checks before any load that a gateway does what its row of the table promises. */
import assert from 'node:assert/strict';
import { BODY } from './backend.mjs';
import { newSecret } from './keys.mjs';
import { truncateLog } from './processes.mjs';

const COUNTED_REQUESTS = 300;
const PARALLEL_REQUESTS = 20;
const COUNT_ATTEMPTS = 5;
const POLICIES = ['key-minute', 'account-minute', 'key-month', 'account-month'];

/**
 * Checks a gateway. Rejects with an error that names the gateway and the first failed check.
 * @param {import('./peers.mjs').Gateway} gateway
 */
export async function checkGateway(gateway) {
  try {
    await checkForwarding(gateway);
    if (gateway.keyed) await checkUnknownKeys(gateway);
    if (gateway.keyed) await checkBackendHeaders(gateway);
    if (gateway.scoped) assert.equal((await get(gateway, gateway.unscoped)).status, 403, 'a key without the scope');
    if (gateway.limits) await checkLimitFields(gateway);
    if (gateway.counters) await checkCounts(gateway);
    if (gateway.limits) await checkLimitRefusal(gateway);
  } catch (error) {
    throw new Error(`${gateway.id} failed a check: ${error.message}`, { cause: error });
  }
}

async function get(gateway, secret, path = '/api/v1/customers') {
  const response = await fetch(gateway.url + path, { headers: secret ? { authorization: `Bearer ${secret}` } : {} });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function checkForwarding(gateway) {
  const { status, text } = await get(gateway, gateway.secrets[0]);
  assert.equal(status, 200, 'a good request');
  assert.equal(text, BODY, 'the body');
}

async function checkUnknownKeys(gateway) {
  assert.equal((await get(gateway)).status, 401, 'no key');
  assert.equal((await get(gateway, newSecret())).status, 401, 'a well-formed key that does not exist');
  assert.equal((await get(gateway, 'tg_live_junk')).status, 401, 'junk');
}

/** Checks the headers that reach the backend, whose `/echo` returns them. */
async function checkBackendHeaders(gateway) {
  const { text } = await get(gateway, gateway.secrets[0], '/api/v1/echo');
  const received = JSON.parse(text);
  assert.equal(received.authorization, '', 'the key must not reach the backend');
  for (const name of ['x-account-id', 'x-api-key-id', 'x-request-id', 'x-api-scopes']) {
    if (name === 'x-request-id' && !gateway.limits) continue;
    assert.notEqual(received[name], '', `${name} must reach the backend`);
  }
}

async function checkLimitFields(gateway) {
  const { headers } = await get(gateway, gateway.secrets[0]);
  for (const policy of POLICIES) {
    assert.match(headers.get('ratelimit-policy') ?? '', new RegExp(`"${policy}";q=\\d+;w=\\d+`), 'RateLimit-Policy');
    assert.match(headers.get('ratelimit') ?? '', new RegExp(`"${policy}";r=\\d+;t=\\d+`), 'RateLimit');
  }
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
    assert.match(headers.get(name) ?? '', /^\d+$/, name);
  }
  assert.ok(headers.get('x-request-id'), 'X-Request-Id');
}

/** Checks that each window counts exactly the sent requests. Repeats the check if Redis was too slow during it. */
async function checkCounts(gateway) {
  for (let attempt = 1; ; attempt++) {
    truncateLog(gateway.program);
    const before = await gateway.counters();
    for (let sent = 0; sent < COUNTED_REQUESTS; sent += PARALLEL_REQUESTS) {
      await Promise.all(Array.from({ length: PARALLEL_REQUESTS }, () => get(gateway, gateway.secrets[0])));
    }
    const risen = (await gateway.counters()).map((count, i) => count - before[i]);
    if (gateway.lostRedis?.() && attempt < COUNT_ATTEMPTS) continue;
    const expected = POLICIES.map(() => COUNTED_REQUESTS);
    return assert.deepEqual(risen, expected, `counters after ${COUNTED_REQUESTS} requests`);
  }
}

/**
 * Checks the 429 of a key with a limit of three requests per minute. Sends up to seven requests, because a fixed minute
 * can end between them.
 */
async function checkLimitRefusal(gateway) {
  let refused;
  for (let i = 0; i < 7 && refused?.status !== 429; i++) refused = await get(gateway, gateway.tiny);
  assert.equal(refused.status, 429, 'the request over the limit');
  assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/, 'Retry-After');
  assert.match(refused.headers.get('ratelimit') ?? '', /"key-minute";r=0;/, 'RateLimit of the refusal');
}
