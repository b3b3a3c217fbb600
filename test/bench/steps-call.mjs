/**
 * Steps that forward a plain request: choosing the target, sending the request, and writing the response. A stub
 * replaces the connection to the backend, and responds synchronously.
 */
import path from 'node:path';

const dist = (file) => import(path.resolve(import.meta.dirname, '../../dist', file));

const AT_ONCE = 64;

const { parseResponseHead } = await dist('http/backend/response-head.js');

/**
 * Creates the step that forwards a request.
 * @param gateway result of `openGateway`. The step replaces `dispatch` of its connection pool.
 * @param message the request
 * @param answer bytes of a complete response to it
 * @param exchange exchange of the request. The step replaces its response.
 */
export function callStep({ modules, config, endpoint }, message, answer, exchange) {
  const { forwarder } = modules;
  const respond = respondWith(answer);
  endpoint.pool.dispatch = respond;
  let written = 0;
  exchange.response = clientThat((status) => (written += status === 200 ? 1 : 0));
  const request = requestOf(config, 'GET /customers', 'acc_benchmark', message, exchange);
  return {
    id: 'call',
    what: 'the call: target, life, response',
    run: () => {
      const before = written;
      endpoint.pool.dispatch = respond;
      forwarder.forward(request);
      if (written !== before + 1) throw new Error('the forwarded request got no response');
    },
  };
}

/**
 * Creates a step that forwards requests of an operation that emits events. The client gets the response when the event
 * is in the database, which another thread writes.
 */
export function emittingStep({ modules, config, endpoint }, message, answer, exchange, accountId) {
  const { forwarder } = modules;
  const respond = respondWith(answer);
  let left = 0;
  let done;
  exchange.response = clientThat(() => --left === 0 && done());
  const request = requestOf(config, 'POST /customers', accountId, message, exchange);
  return {
    id: 'call-emits',
    what: `the call of an operation that emits, ${AT_ONCE} at once: its event as well`,
    atOnce: AT_ONCE,
    share: 0.1,
    run: () =>
      new Promise((resolve) => {
        left = AT_ONCE;
        done = resolve;
        endpoint.pool.dispatch = respond;
        for (let call = 0; call < AT_ONCE; call++) forwarder.forward(request);
      }),
  };
}

/** Returns a `dispatch` function that passes the complete response to the call synchronously. */
function respondWith(answer) {
  const head = parseResponseHead(answer, 0, answer.length, false);
  const body = answer.subarray(head.end);
  const sending = { abort: () => undefined, pause: () => undefined, resume: () => undefined };
  return (call) => {
    call.onConnection(sending);
    call.onSent();
    call.onHead(head);
    call.onWhole(body);
    call.onEnd('');
  };
}

function clientThat(takes) {
  return { isGone: false, hasBegun: false, canWriteWhole: true, writeWhole: (status) => void takes(status) };
}

function requestOf({ operations, file }, match, accountId, message, exchange) {
  const [method, template] = match.split(' ');
  const operation = operations.find((one) => one.method === method && one.template === template);
  return {
    operation,
    accountId,
    message,
    path: '/customers',
    fieldLines: '',
    basePath: file.api.basePath,
    ownCors: false,
    client: exchange,
  };
}
