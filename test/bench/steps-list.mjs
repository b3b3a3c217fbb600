/** Lists the steps of a plain request. Each step calls the code that the gateway runs. */
import path from 'node:path';
import { BODY } from './backend.mjs';
import { callStep, emittingStep } from './steps-call.mjs';
import { makeKey, redisQuotas, refreshCaches } from './steps-parts.mjs';
import { refusalSteps } from './steps-refusals.mjs';

const dist = (file) => import(path.resolve(import.meta.dirname, '../../dist', file));

const { systemClock } = await dist('platform/clock.js');
const { ErrorPages } = await dist('platform/problems/error-pages.js');
const { problemBody } = await dist('platform/problems/problem-body.js');
const { Exchange } = await dist('gateway/request/exchange.js');
const { framingProblem, originForm } = await dist('gateway/request/framing.js');
const { LifeCycle } = await dist('admission/life-cycle.js');
const { HttpDate } = await dist('http/client/http-date.js');
const { RequestEnd } = await dist('gateway/request/request-end.js');
const { RequestLines } = await dist('gateway/request/request-lines.js');
const { RequestLogRecorder } = await dist('request-logs/recorder.js');
const { Routes } = await dist('admission/routes.js');
const { openSteps } = await dist('admission/steps.js');
const { FailedAttempts } = await dist('keys/failed-attempts.js');
const { linesOf } = await dist('http/grammar/fields.js');
const { parseResponseHead } = await dist('http/backend/response-head.js');
const { parsePlainRequest } = await dist('http/client/plain-request.js');
const { responseHead } = await dist('proxy/calls/response-head.js');
const { ErrorResponse } = await dist('proxy/calls/error-response.js');
const { backendRequestHeaders } = await dist('proxy/fields/request-headers.js');
const { quotaLines } = await dist('quota/model/headers.js');
const { IN_FLIGHT } = await dist('quota/model/usage-cell.js');
const { PromiseReceiver } = await dist('platform/callbacks.js');

const ADDRESS = '127.0.0.1';
/** Receives results that arrive asynchronously. Throws if a decision does not admit, or after an error. */
const WAITING = {
  onResult: (decision) => mustBe(true, decision.admitted),
  onError: (error) => mustBe(undefined, error),
};
const AT_ONCE = 64;
/** Disables the throttle, because the refused steps make many failed attempts. */
const FAILED_ATTEMPTS_PER_MINUTE = Infinity;

const headFor = (body) =>
  'HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Fri, 20 Nov 2026 12:00:00 GMT\r\nContent-Type: application/json\r\n' +
  `Content-Length: ${body.length}\r\nConnection: keep-alive\r\n`;
const BACKEND_HEAD = headFor(BODY);
const withHead = (body) => Buffer.from(`${headFor(body)}\r\n${body}`);
/** Response body for the creation of a customer. */
const BODY_OF_ONE = JSON.stringify({
  ...JSON.parse(BODY).data[0],
  notes: 'Comes by train, needs a lift from the station at Zell am See. Has paid the deposit for both boats in cash.',
  created_at: '2026-11-20T12:00:00.000Z',
  updated_at: '2026-11-20T12:00:00.000Z',
});
const ERROR_FIELDS = ['Content-Type', 'application/json; charset=utf-8'];
/** Error response of Rails for a record with two invalid fields. */
const ERROR_BODY = Buffer.from(
  `{"name":["can't be blank"],"email":["is invalid","is too short (minimum is 5 characters)"]}`,
);

/**
 * Creates all steps.
 * @param gateway result of `openGateway`
 * @param request result of `receiveRequests`, with the secret of `key`
 * @param key result of `makeKey`
 * @returns steps for `measureStep`, each with an `id`, and a description `what`
 */
export async function stepsOf(gateway, request, key) {
  const { config, log, modules } = gateway;
  const { response } = request;
  const bytes = bytesOf(request.message);
  const date = new HttpDate(systemClock);
  const read = () => parsePlainRequest(bytes, bytes.length, request.message.socket);
  const message = read();
  const arrived = (from, url = originForm(from), answer = response) =>
    new Exchange(from, answer, url, ADDRESS, 'http', { date });
  const begin = (answer = response) => arrived(message, undefined, answer);
  const exchange = begin();
  const { recorder, limiter } = modules.quotas;
  const steps = openSteps({
    routes: new Routes(config),
    lifeCycle: new LifeCycle(config, () => '', systemClock),
    authenticator: modules.keys.authenticator,
    failedAttempts: new FailedAttempts(FAILED_ATTEMPTS_PER_MINUTE, systemClock, log.logger),
    quotas: limiter,
    quotaReport: undefined,
    recorder,
  });
  const withParameter = arrived(message, '/api/v1/customers/cus_0000000000000007');
  // Creates the counters of the key.
  const decision = await limiter.decide(key.known.subject, 1);
  const passes = (step, of = exchange) => mustBe(true, step.check(of, WAITING));
  // Later steps need the results of these, also if they are measured alone.
  passes(steps.route);
  passes(steps.key);
  return [
    { id: 'request-read', what: 'the request is read from its bytes', run: () => mustBe(true, read().keepsAlive) },
    {
      id: 'begin',
      what: 'the request is looked at and named',
      run: () => mustBe(undefined, framingProblem(message)) ?? begin(),
    },
    { id: 'route', what: 'route: a path without parameters', run: () => passes(steps.route) },
    { id: 'route-parameter', what: 'route: a path with one', run: () => passes(steps.route, withParameter) },
    {
      id: 'key',
      what: 'key: read, checksum, SHA-256, found in memory',
      prepare: () => refreshCaches(steps.key, exchange),
      run: () => passes(steps.key),
    },
    { id: 'scope', what: 'scope', run: () => passes(steps.scope) },
    ...(await decisionSteps(gateway, key.known.subject)),
    ...fieldSteps(exchange, key.known, decision, gateway),
    callStep(gateway, message, withHead(BODY), begin()),
    emittingStep(gateway, message, withHead(BODY_OF_ONE), begin(), key.known.record.accountId),
    ...endSteps(begin(request.finished), key.known, decision, config, log, recorder),
    errorStep(),
    ...refusalSteps(steps, arrived, message, key.known, decision),
  ];
}

/** Returns the bytes of a request without a body. */
function bytesOf({ method, url, rawHeaders }) {
  return Buffer.from(`${method} ${url} HTTP/1.1\r\n${linesOf(rawHeaders)}\r\n`);
}

async function decisionSteps({ modules, log }, subject) {
  const { limiter } = modules.quotas;
  const forRedis = redisQuotas(modules, log);
  const others = [];
  for (let made = 0; made < AT_ONCE; made++) others.push((await makeKey(modules)).known.subject);
  for (const of of [subject, ...others]) mustBe(true, (await forRedis.decide(of, 1)).admitted);
  return [
    {
      id: 'decision',
      what: 'decision in the process',
      run: () => mustBe(true, limiter.decideFor(WAITING, subject, 1).admitted),
    },
    {
      id: 'redis-alone',
      what: 'decision for Redis, one in a call',
      atOnce: 1,
      run: () => decideAll(forRedis, [subject]),
    },
    {
      id: 'redis-gathered',
      what: `decision for Redis, ${AT_ONCE} at once`,
      atOnce: AT_ONCE,
      run: () => decideAll(forRedis, others),
    },
  ];
}

/** Starts a decision for each subject, as the gateway does. Returns the promise of the last one, which ends last. */
function decideAll(quotas, subjects) {
  const last = new PromiseReceiver();
  for (let at = 0; at < subjects.length - 1; at++) quotas.decideFor(WAITING, subjects[at], 1);
  quotas.decideFor(last, subjects.at(-1), 1);
  return last.promise;
}

function fieldSteps(exchange, { subject, record, scopeSet }, decision, { config: { file }, endpoint }) {
  const { message } = exchange;
  const { basePath } = file.api;
  const identity = () => ({
    accountId: record.accountId,
    keyId: record.keyId,
    scopes: scopeSet.text,
    requestId: exchange.requestId,
    traceparent: exchange.traceparent,
    clientAddress: ADDRESS,
    scheme: 'http',
    host: message.headers.host,
    prefix: basePath,
    httpVersion: message.httpVersion,
  });
  exchange.quotaLines = quotaLines(subject, decision);
  const request = { message, client: exchange, basePath, ownCors: false };
  // The head and the body arrive in one piece.
  const answer = Buffer.from(`${BACKEND_HEAD}\r\n${BODY}`);
  const { lines } = parseResponseHead(answer, 0, answer.length, false);
  return [
    {
      id: 'quota-fields',
      what: 'RateLimit and X-RateLimit fields',
      run: () => mustBe(true, quotaLines(subject, decision).length > 20),
    },
    {
      id: 'request-headers',
      what: 'fields for the backend',
      run: () => mustBe(true, backendRequestHeaders(message.lines, identity()).length > 400),
    },
    {
      id: 'answer-parsed',
      what: "the head of the backend's answer is read",
      run: () => mustBe(200, parseResponseHead(answer, 0, answer.length, false).status),
    },
    {
      id: 'response-headers',
      what: 'fields for the client',
      run: () => mustBe(true, responseHead(request, lines, endpoint, false).length > 20),
    },
  ];
}

/** Creates the steps at the end of a request. Each run records the quota decision of the exchange again. */
function endSteps(exchange, known, decision, { operations }, log, recorder) {
  const [operation] = operations;
  const { subject } = known;
  Object.assign(exchange, { key: known, subject, operation, decision, upstreamMs: 1.25 });
  const recordDecision = () => {
    exchange.completion = IN_FLIGHT;
    recorder.recordDecision(exchange, subject, operation, decision);
  };
  const nobody = { find: () => undefined };
  const silent = { ...log, logger: { isLevelEnabled: () => false } };
  const nowhere = { record: () => undefined };
  const lines = new RequestLines({ format: 'json', successes: 1, fields: undefined });
  const requestLogs = new RequestLogRecorder(({ template }) => `/api/v1${template}`);
  const quiet = new RequestEnd(silent, recorder, nowhere, nobody, systemClock, lines);
  const kept = new RequestEnd(silent, recorder, requestLogs, nobody, systemClock, lines);
  const full = new RequestEnd(log, recorder, nowhere, nobody, systemClock, lines);
  const end = (requestEnd) => () => {
    recordDecision();
    requestEnd.end(exchange, 200);
  };
  return [
    { id: 'end', what: 'the end: usage and metrics', run: end(quiet) },
    { id: 'end-kept', what: 'the end with its row of the request log', run: end(kept) },
    { id: 'end-logged', what: 'the end with its log line', inTurns: true, run: end(full) },
  ];
}

function errorStep() {
  const pages = new ErrorPages('https://api.example.com');
  return {
    id: 'error',
    what: "a backend's error in our shape (Rails, 422, two fields)",
    run: () => {
      const answer = new ErrorResponse(422, ERROR_FIELDS);
      answer.add(ERROR_BODY);
      const problem = answer.problem(false);
      mustBe(3, problem.options.errors.length);
      return JSON.stringify(problemBody(problem, 'req_benchmark', pages));
    },
  };
}

/** Returns a step's result. Throws if it is not the expected one, so that no wrong step is measured. */
function mustBe(wanted, is) {
  if (is !== wanted) throw new Error(`a step of the benchmark returned ${String(is)} instead of ${String(wanted)}`);
  return is;
}
