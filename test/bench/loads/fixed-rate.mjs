/** Runs the constant-rate load and says what came back. A wrong or missing answer is an error. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { LOAD_CORE, startProgram, stopProgram, truncateLog } from '../processes.mjs';

const PROGRAM = path.join(import.meta.dirname, 'open-loop.mjs');
/** The load, too, is compiled while it runs, and stops for that: by then next to nothing is left of it. */
const WARM_UP_SECONDS = 4;
const CONNECTIONS = 64;

/**
 * @param {{ url: string, path: string, method?: string, bodyFile?: string, secretsFile: string, ca?: string, expected: string, limits: boolean }} target
 *   `ca`: file of the certificate that is trusted, where `url` is over TLS; `expected` body of every answer, which must have RateLimit
 *   fields where `limits`
 * @param {{ rate: number, seconds: number }} load `rate`: requests a second
 * @returns {Promise<{ requests: number, told: number, waited: number, latency: object, lateness: object }>} quantiles in ms; `requests` with,
 *   `told` without those of the warm-up; `waited`: found every connection busy at their instant, which counts as their latency
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
    // A pause of the load would look like one of the gateway: a new space this large is swept seldom, and V8's threads, which would
    // take turns of milliseconds with it on its core, leave their work to it.
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
  if (!json) throw new Error(`the constant-rate load said nothing that can be used:\n${output.slice(-1_000)}`);
  const result = JSON.parse(json);
  if (result.failure) throw new Error(`${result.failure} (${result.answered} of ${result.sent} had been answered)`);
  return result;
}
