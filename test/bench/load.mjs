/** Runs wrk against one gateway and says what came back. A wrong answer is an error: no figure is made from it. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { BODY } from './backend.mjs';
import { LOAD_CORE, startProgram, stopProgram, truncateLog } from './processes.mjs';

const SCRIPT = path.join(import.meta.dirname, 'load.lua');
const LOAD_PATH = '/api/v1/customers';
/** A status line and the fields that no answer lacks; with the body the least that an answer can measure. */
const LEAST_HEAD_BYTES = 60;

/**
 * One interval of load.
 * @param {{ url: string, secretsFile: string, limits: boolean }} gateway `limits`: its answers carry RateLimit fields
 * @param {{ seconds: number, connections: number, verify?: boolean }} interval `verify` looks at every head and body
 * @returns {Promise<{ requests: number, seconds: number, p50: number, p90: number, p99: number, max: number }>} times in ms
 */
export async function runLoad(gateway, { seconds, connections, verify = false }) {
  const checks = verify ? [String(Buffer.byteLength(BODY)), ...(gateway.limits ? ['limits'] : [])] : [];
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '-s', SCRIPT, gateway.url + LOAD_PATH];
  const wrk = startProgram({
    name: 'wrk',
    command: 'wrk',
    args: [...args, '--', gateway.secretsFile, LOAD_PATH, ...checks],
    core: LOAD_CORE,
  });
  await ended(wrk, seconds);
  const output = readFileSync(wrk.log, 'utf8');
  truncateLog(wrk);
  const [, json] = /^RESULT (.*)$/m.exec(output) ?? [];
  if (!json) throw new Error(`wrk said nothing that can be used:\n${output.slice(-1_000)}`);
  const { microseconds, ...result } = JSON.parse(json);
  refuseWrong(result, verify);
  return { ...result, seconds: microseconds / 1e6 };
}

async function ended(wrk, seconds) {
  const timer = setTimeout(() => void stopProgram(wrk), (seconds + 10) * 1_000);
  await new Promise((resolve) => wrk.child.once('exit', resolve));
  clearTimeout(timer);
}

function refuseWrong({ requests, bytes, failed, refused, wrong, seen, complaint }, verify) {
  if (failed > 0) throw new Error(`${failed} connections or requests failed`);
  if (refused > 0) throw new Error(`${refused} of ${requests} answers had an error status`);
  if (requests === 0) throw new Error('no request was answered');
  if (wrong > 0) throw new Error(`${wrong} of ${seen} answers were wrong, the last one: ${complaint}`);
  if (verify && seen < requests) throw new Error(`only ${seen} of ${requests} answers were looked at`);
  const least = requests * (LEAST_HEAD_BYTES + Buffer.byteLength(BODY));
  if (bytes < least) throw new Error(`${bytes} bytes are too few for ${requests} answers`);
}
