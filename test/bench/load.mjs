/** Runs wrk against one gateway and says what came back. A wrong answer is an error: no figure is made from it. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { BODY } from './backend.mjs';
import { LOAD_CORE, startProgram, stopProgram, truncateLog } from './processes.mjs';

const SCRIPT = path.join(import.meta.dirname, 'load.lua');
/** A status line and the fields that no answer lacks; with the body the least that an answer can measure. */
const LEAST_HEAD_BYTES = 60;
/** A gateway with thousands of connections takes its turns; wrk's own 2 s are too short for that. */
const TIMEOUT = '10s';

/**
 * What is sent, and what has to come back.
 * @typedef {{ path: string, method?: string, bodyFile?: string, fields?: string[], secretsFile?: string | null, status?: number, sometimes?: number,
 *   length?: number, contains?: string, limits?: boolean, streams?: number }} LoadRequest
 *   `secretsFile` instead of the gateway's own, null: no key; `status` of the answers (200), `sometimes` another one that may be among
 *   them; `length` of a body in bytes; `contains` text of it; `limits`: whether answers carry RateLimit fields; `streams` of each
 *   connection: over HTTP/2.
 */

/** @type {LoadRequest} A list of customers, 1.1 KB. */
export const PLAIN_REQUEST = { path: '/api/v1/customers', length: Buffer.byteLength(BODY) };

/**
 * One interval of load.
 * @param {{ url: string, secretsFile: string, limits: boolean, sent?: number }} gateway `limits`: its answers carry RateLimit fields;
 *   `sent`: how many requests it has had, so that the next key is the one whose turn it is
 * @param {{ seconds: number, connections: number, verify?: boolean, request?: LoadRequest, core?: number | string }} interval `verify`
 *   looks at every head and body
 * @returns {Promise<{ requests: number, refused: number, seconds: number, p50: number, p90: number, p99: number, max: number }>} times
 *   in ms; `refused`: answers with a status of 400 or more
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
  await ended(wrk, seconds);
  const output = readFileSync(wrk.log, 'utf8');
  truncateLog(wrk);
  const [, json] = /^RESULT (.*)$/m.exec(output) ?? [];
  if (!json) throw new Error(`wrk said nothing that can be used:\n${output.slice(-1_000)}`);
  const { microseconds, ...result } = JSON.parse(json);
  refuseWrong(result, request, verify);
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

async function ended(wrk, seconds) {
  const timer = setTimeout(() => void stopProgram(wrk), (seconds + 10) * 1_000);
  await new Promise((resolve) => wrk.child.once('exit', resolve));
  clearTimeout(timer);
}

/** Over HTTP/2, with the first of the keys: the load has one set of fields. It does not look at answers but for their status. */
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
  await ended(h2load, seconds);
  const output = readFileSync(h2load.log, 'utf8');
  truncateLog(h2load);
  const [, done, failed] = /^requests: .* (\d+) done, \d+ succeeded, (\d+) failed/m.exec(output) ?? [];
  const isAll2xx = /^status codes: [1-9]\d* 2xx, 0 3xx, 0 4xx, 0 5xx/m.test(output);
  if (!done) throw new Error(`h2load said nothing that can be used:\n${output.slice(-1_000)}`);
  if (failed !== '0' || !isAll2xx) throw new Error(`not every request succeeded:\n${output.slice(-1_000)}`);
  return { requests: Number(done), refused: 0, seconds };
}

/** Of answers that may be of two kinds, those of the usual one must be nearly all. */
const LEAST_USUAL = 0.98;

function refuseWrong({ requests, bytes, failed, refused, wrong, seen, usual, complaint }, request, verify) {
  const { status = 200, sometimes, length = 0 } = request;
  if (failed > 0) throw new Error(`${failed} connections or requests failed`);
  if (requests === 0) throw new Error('no request was answered');
  if (wrong > 0) throw new Error(`${wrong} of ${seen} answers were wrong, the last one: ${complaint}`);
  if (status < 400 && refused > 0) throw new Error(`${refused} of ${requests} answers had an error status`);
  if (status >= 400 && sometimes === undefined && refused < requests)
    throw new Error(`${requests - refused} of ${requests} answers were no refusals`);
  if (status >= 400 && refused < LEAST_USUAL * requests)
    throw new Error(`only ${refused} of ${requests} answers were refusals`);
  if (verify && seen < requests) throw new Error(`only ${seen} of ${requests} answers were looked at`);
  if (verify && usual < LEAST_USUAL * seen)
    throw new Error(`only ${usual} of ${seen} answers had the status ${status}`);
  const least = requests * (LEAST_HEAD_BYTES + length);
  if (bytes < least) throw new Error(`${bytes} bytes are too few for ${requests} answers`);
}
