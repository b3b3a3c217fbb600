/** Steps of a request that is refused: from its step to the body that says why. Whoever is refused must not be the dearer caller. */
import path from 'node:path';
import { newSecret } from './keys.mjs';
import { remember } from './steps-parts.mjs';

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
 * @param steps {route, key}
 * @param begin makes the exchange of a message, for a path
 * @param known the key that is refused where it is not the key that is wrong
 * @param decision one that admits
 */
export function refusalSteps(steps, begin, message, { subject }, decision) {
  const refused = { ...decision, admitted: false, violated: 1 << KEY_MINUTE, retryAtMs: decision.nowMs + WAIT_MS };
  const needed = ['invoices:read'];
  const unknown = newSecret();
  const noKey = asked(steps.key, begin(withKey(message, undefined)), 'missing_api_key');
  const unknownKey = asked(steps.key, begin(withKey(message, unknown)), 'invalid_api_key');
  const noRoute = asked(steps.route, begin(message, '/api/v1/nothing'), 'route_not_found');
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

/** What a step of the request path refuses, as one of the benchmark. */
function asked(step, exchange, code) {
  const nobody = new PromiseReceiver();
  const run = () => {
    exchange.refusal = undefined;
    const passes = step.check(exchange, nobody);
    if (passes !== false || exchange.refusal.code !== code)
      throw new Error(
        `not ${code}, but ${exchange.refusal?.code ?? (passes ? 'let in' : 'a question to the database')}`,
      );
    return bodyOf(exchange.refusal);
  };
  return { prepare: () => remember(step, exchange), run };
}

/** The message with another key. */
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
