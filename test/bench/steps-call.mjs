/** The call of a plain request to its backend: chosen, sent, its response taken and written. Its connection is none, and at once. */
import path from 'node:path';

const dist = (file) => import(path.resolve(import.meta.dirname, '../../dist', file));

const { parseResponseHead } = await dist('http1/backend/response-head.js');

/**
 * @param gateway from `openGateway`; its pool of connections is not used by any other step.
 * @param message the request, and `answer` the bytes of a whole response to it
 * @param exchange that it belongs to
 */
export function callStep({ domain, config, endpoint }, message, answer, exchange) {
  const { forwarder } = domain;
  const [operation] = config.operations;
  const head = parseResponseHead(answer, 0, answer.length, false);
  const body = answer.subarray(head.end);
  const sending = { abort: () => undefined, pause: () => undefined, resume: () => undefined };
  endpoint.pool.dispatch = (call) => {
    call.onConnection(sending);
    call.onSent();
    call.onHead(head);
    call.onWhole(body);
    call.onEnd('');
  };
  let written = 0;
  exchange.response = {
    isGone: false,
    hasBegun: false,
    takesWhole: true,
    writeWhole: (status) => void (written += status === 200 ? 1 : 0),
  };
  const request = {
    operation,
    accountId: 'acc_benchmark',
    message,
    path: '/customers',
    fieldLines: '',
    basePath: config.file.api.basePath,
    ownCors: false,
    client: exchange,
  };
  return {
    id: 'call',
    what: 'the call: target, life, response',
    run: () => {
      const before = written;
      forwarder.forward(request);
      if (written !== before + 1) throw new Error('the call of the benchmark was not answered');
    },
  };
}
