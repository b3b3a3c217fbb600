/**
 * Steps of refused requests: the admission step that refuses, and the response body. A refused request should not cost
 * more than a forwarded one.
 */
import path from 'node:path';
import { newSecret } from './keys.mjs';
import { refreshCaches } from './steps-parts.mjs';

const dist = (file) => import(path.resolve(import.meta.dirname, '../../dist', file));

const { scopeProblem } = await dist('keys/scope-problem.js');
const { ErrorPages } = await dist('platform/problems/error-pages.js');
const { problemBytes } = await dist('platform/problems/problem-text.js');
const { KEY_MINUTE } = await dist('platform/quotas/windows.js');
const { PromiseReceiver } = await dist('platform/callbacks.js');
const { quotaProblem } = await dist('quota/model/refusal.js');

const REQUEST_ID = 'req_0123456789abcdef01234567';
const WAIT_MS = 12_345;
const PAGES = new ErrorPages('https://api.example.com');

/**
 * Creates the refused steps.
 * @param steps {route, key}
 * @param begin creates the exchange of a message, with an optional path
 * @param known the key whose minute limit is used up
 * @param decision decision that admits a request of this key
 */
export function refusalSteps(steps, begin, message, { subject }, decision) {
  const refused = { ...decision, admitted: false, violated: 1 << KEY_MINUTE, retryAtMs: decision.nowMs + WAIT_MS };
  const needed = ['invoices:read'];
  const unknown = newSecret();
  const noKey = refusedBy(steps.key, begin(withKey(message, undefined)), 'missing_api_key');
  const unknownKey = refusedBy(steps.key, begin(withKey(message, unknown)), 'invalid_api_key');
  const noRoute = refusedBy(steps.route, begin(message, '/api/v1/nothing'), 'route_not_found');
  return [
    { id: 'refused-no-key', what: 'refused: no key', run: noKey.run },
    { id: 'refused-unknown', what: 'refused: a key that nobody has, SHA-256, remembered', ...unknownKey },
    { id: 'refused-scope', what: 'refused: a scope is missing', run: () => bodyOf(scopeProblem([], needed)) },
    { id: 'refused-route', what: 'refused: no such path', run: noRoute.run },
    { id: 'refused-minute', what: 'refused: the minute is used up', run: () => bodyOf(quotaProblem(subject, refused)) },
  ];
}

function bodyOf(problem) {
  return problemBytes(problem, REQUEST_ID, PAGES);
}

/** Returns a benchmark step that runs an admission step, and renders its refusal. Throws if the code is another one. */
function refusedBy(step, exchange, code) {
  const ignored = new PromiseReceiver();
  const run = () => {
    exchange.refusal = undefined;
    const passes = step.check(exchange, ignored);
    if (passes !== false || exchange.refusal.code !== code)
      throw new Error(
        `expected ${code}, got ${exchange.refusal?.code ?? (passes ? 'no refusal' : 'a database query')}`,
      );
    return bodyOf(exchange.refusal);
  };
  return { prepare: () => refreshCaches(step, exchange), run };
}

/** Returns a copy of the message with another secret, or without one. */
function withKey({ method, httpVersion, headers, rawHeaders, socket }, secret) {
  const others = rawHeaders.slice(0, rawHeaders.indexOf('Authorization'));
  const { authorization: _own, ...rest } = headers;
  if (secret === undefined) return { method, httpVersion, socket, headers: rest, rawHeaders: others };
  const authorization = `Bearer ${secret}`;
  return {
    method,
    httpVersion,
    socket,
    headers: { ...rest, authorization },
    rawHeaders: [...others, 'Authorization', authorization],
  };
}
