/** Runs the constant-rate load in a separate program. A wrong or missing response is an error. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { LOAD_CORE, startProgram, stopProgram, truncateLog } from '../processes.mjs';

const PROGRAM = path.join(import.meta.dirname, 'open-loop.mjs');
/** Duration of the unmeasured load at the start. After it, the load's own compilation causes almost no pauses. */
const WARM_UP_SECONDS = 4;
const CONNECTIONS = 64;

/**
 * Sends requests at a constant rate. Rejects if a response is wrong or missing.
 * @param {{ url: string, path: string, method?: string, bodyFile?: string, secretsFile: string, ca?: string,
 *   expected: string, limits: boolean }} target `ca`: file of the trusted certificate, for TLS; `expected`: body of
 *   every response; `limits`: whether responses must have RateLimit fields
 * @param {{ rate: number, seconds: number }} load `rate`: requests per second
 * @returns {Promise<{ requests: number, told: number, waited: number, latency: object, lateness: object }>} quantiles
 *   in ms, and numbers of requests. `requests` includes the warm-up, and `told` excludes it. `waited` requests had no
 *   free connection when they were due; the latency includes their wait.
 */
export async function runFixedRate({ url, expected, ...target }, { rate, seconds }) {
  const settings = {
    ...target,
    port: Number(new URL(url).port),
    body: expected,
    rate,
    seconds,
    warmUpSeconds: WARM_UP_SECONDS,
    connections: CONNECTIONS,
  };
  const program = startProgram({
    name: 'open-loop',
    command: 'chrt',
    // A pause of the load would look like a pause of the gateway. A large young generation makes collections rare.
    // Without --single-threaded, V8's threads would interrupt the load for milliseconds, because they share its core.
    args: [
      '--idle',
      '0',
      process.execPath,
      '--single-threaded',
      '--max-semi-space-size=128',
      PROGRAM,
      JSON.stringify(settings),
    ],
    core: LOAD_CORE,
  });
  const timer = setTimeout(() => void stopProgram(program), (seconds + WARM_UP_SECONDS + 30) * 1_000);
  await new Promise((resolve) => program.child.once('exit', resolve));
  clearTimeout(timer);
  const output = readFileSync(program.log, 'utf8');
  truncateLog(program);
  const [, json] = /^RESULT (.*)$/m.exec(output) ?? [];
  if (!json) throw new Error(`the constant-rate load printed no result:\n${output.slice(-1_000)}`);
  const result = JSON.parse(json);
  if (result.failure)
    throw new Error(`${result.failure} (after ${result.answered} responses to ${result.sent} requests)`);
  return result;
}
