/**
 * Runs wrk or h2load against a gateway, and checks the responses. Wrong responses cause an error instead of figures.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { BODY } from './backend.mjs';
import { LOAD_CORE, startProgram, stopProgram, truncateLog } from './processes.mjs';

const SCRIPT = path.join(import.meta.dirname, 'load.lua');
/** Minimum size of a response head in bytes: the status line and the fields of every response. */
const MIN_HEAD_BYTES = 60;
/** Timeout of a request in wrk. Its default of 2 s is too short for gateways with thousands of connections. */
const TIMEOUT = '10s';

/**
 * LoadRequest describes the requests of a load, and the expected responses.
 *
 * - `fields`: additional header lines
 * - `secretsFile`: file of secrets instead of the gateway's own; null to send no key
 * - `status`: expected status (200)
 * - `sometimes`: another allowed status
 * - `length`: expected length of the body in bytes
 * - `contains`: expected text in the body
 * - `limits`: whether responses have RateLimit fields, if other than usual for the gateway
 * - `streams`: number of concurrent streams per connection; uses HTTP/2
 *
 * @typedef {{ path: string, method?: string, bodyFile?: string, fields?: string[], secretsFile?: string | null,
 *   status?: number, sometimes?: number, length?: number, contains?: string, limits?: boolean, streams?: number
 *   }} LoadRequest
 */

/** @type {LoadRequest} Lists customers. The response has 1.1 KB. */
export const PLAIN_REQUEST = { path: '/api/v1/customers', length: Buffer.byteLength(BODY) };

/**
 * Runs one interval of load. Rejects if a response was wrong.
 * @param {{ url: string, secretsFile: string, limits: boolean, sent?: number }} gateway `limits`: its responses have
 *   RateLimit fields; `sent`: number of requests so far, which determines the next key and is increased
 * @param {{ seconds: number, connections: number, verify?: boolean, request?: LoadRequest, core?: number | string
 *   }} interval `verify` checks the head and body of each response (not over HTTP/2)
 * @returns {Promise<{ requests: number, refused: number, seconds: number, p50: number, p90: number, p99: number,
 *   max: number }>} latencies in ms (not over HTTP/2); `refused`: number of responses with a status of 400 or more
 */
export function runLoad(gateway, interval) {
  return interval.request?.streams === undefined ? runWrk(gateway, interval) : runH2load(gateway, interval);
}

async function runWrk(gateway, { seconds, connections, verify = false, request = PLAIN_REQUEST, core }) {
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '--timeout', TIMEOUT, '-s', SCRIPT];
  const wrk = startProgram({
    name: 'wrk',
    command: 'wrk',
    args: [...args, gateway.url + request.path, '--', ...scriptArguments(gateway, request, verify)],
    core: core ?? LOAD_CORE,
  });
  await waitForExit(wrk, seconds);
  const output = readFileSync(wrk.log, 'utf8');
  truncateLog(wrk);
  const [, json] = /^RESULT (.*)$/m.exec(output) ?? [];
  if (!json) throw new Error(`wrk printed no result:\n${output.slice(-1_000)}`);
  const { microseconds, ...result } = JSON.parse(json);
  checkResult(result, request, verify);
  gateway.sent = (gateway.sent ?? 0) + result.requests;
  return { ...result, seconds: microseconds / 1e6 };
}

function scriptArguments(gateway, request, verify) {
  const secrets = request.secretsFile === undefined ? gateway.secretsFile : request.secretsFile;
  const given = {
    path: request.path,
    method: request.method,
    body: request.bodyFile,
    fields: request.fields?.join('|'),
    secrets,
    from: gateway.sent,
    ...(verify && {
      verify: 'yes',
      status: [request.status ?? 200, request.sometimes].filter(Boolean).join(','),
      length: request.length,
      contains: request.contains,
      limits: (request.limits ?? gateway.limits) || undefined,
    }),
  };
  return Object.entries(given).flatMap(([name, value]) => (value === undefined || value === null ? [] : [`${name}=${value}`])); // prettier-ignore
}

/** Resolves when the load generator has exited. Stops it 10 s after its planned end. */
async function waitForExit(wrk, seconds) {
  const timer = setTimeout(() => void stopProgram(wrk), (seconds + 10) * 1_000);
  await new Promise((resolve) => wrk.child.once('exit', resolve));
  clearTimeout(timer);
}

/**
 * Runs load over HTTP/2. h2load sends the same header fields with each request, so all requests use the first key. Only
 * the status of the responses is checked.
 */
async function runH2load(gateway, { seconds, connections, request, core }) {
  const [secret] = readFileSync(gateway.secretsFile, 'utf8').split('\n');
  const fields = ['-H', `authorization: Bearer ${secret}`, '-H', 'accept: application/json'];
  const bounds = ['-t1', `-c${connections}`, `-m${request.streams}`, `-D${seconds}`];
  const h2load = startProgram({
    name: 'h2load',
    command: 'h2load',
    args: [...bounds, ...fields, gateway.url + request.path],
    core: core ?? LOAD_CORE,
  });
  await waitForExit(h2load, seconds);
  const output = readFileSync(h2load.log, 'utf8');
  truncateLog(h2load);
  const [, done, failed] = /^requests: .* (\d+) done, \d+ succeeded, (\d+) failed/m.exec(output) ?? [];
  const isAll2xx = /^status codes: [1-9]\d* 2xx, 0 3xx, 0 4xx, 0 5xx/m.test(output);
  if (!done) throw new Error(`h2load printed no result:\n${output.slice(-1_000)}`);
  if (failed !== '0' || !isAll2xx) throw new Error(`some requests failed:\n${output.slice(-1_000)}`);
  return { requests: Number(done), refused: 0, seconds };
}

/** Minimum share of responses with the expected status, if another status is allowed too. */
const MIN_USUAL_SHARE = 0.98;

function checkResult({ requests, bytes, failed, refused, wrong, seen, usual, complaint }, request, verify) {
  const { status = 200, sometimes, length = 0 } = request;
  if (failed > 0) throw new Error(`${failed} connections or requests failed`);
  if (requests === 0) throw new Error('there were no responses');
  if (wrong > 0) throw new Error(`${wrong} of ${seen} responses were wrong, the last one: ${complaint}`);
  if (status < 400 && refused > 0) throw new Error(`${refused} of ${requests} responses had an error status`);
  if (status >= 400 && sometimes === undefined && refused < requests)
    throw new Error(`${requests - refused} of ${requests} responses were not refusals`);
  if (status >= 400 && refused < MIN_USUAL_SHARE * requests)
    throw new Error(`only ${refused} of ${requests} responses were refusals`);
  if (verify && seen < requests) throw new Error(`only ${seen} of ${requests} responses were checked`);
  if (verify && usual < MIN_USUAL_SHARE * seen)
    throw new Error(`only ${usual} of ${seen} responses had the status ${status}`);
  const least = requests * (MIN_HEAD_BYTES + length);
  if (bytes < least) throw new Error(`${bytes} bytes are too few for ${requests} responses`);
}
