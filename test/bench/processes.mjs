/**
 * Starts the programs of a benchmark, pinned to cores. Stops each by its process ID at the end, after an error and on
 * Ctrl-C. Manages the temporary folder of the run.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processTree } from './accounting.mjs';

/** Core that only the measured gateway uses. */
export const GATEWAY_CORE = 0;
/** Core that backend, load, Redis and this program share. */
export const LOAD_CORE = 1;

const START_TIMEOUT_MS = 15_000;
const STOP_TIMEOUT_MS = 8_000;

const running = new Set();
let folder;

/** Returns the temporary folder of the run. `stopAll` removes it. */
export function temporaryFolder() {
  folder ??= mkdtempSync(path.join(tmpdir(), 'trailgate-bench-'));
  return folder;
}

/** Resolves to a TCP port of 127.0.0.1 that was free. Another program can take it before it is used. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/**
 * Starts a program, pinned to a core. Standard output and standard error are appended to the file `log` of the result.
 * `stopProgram` or `stopAll` stops it.
 * @param {{ name: string, command: string, args: string[], core: number | string, env?: NodeJS.ProcessEnv,
 *   cwd?: string }} program `core`: cores as taskset accepts them
 */
export function startProgram({ name, command, args, core, env = {}, cwd }) {
  const log = path.join(temporaryFolder(), `${name}.log`);
  const output = openSync(log, 'a');
  const child = spawn('taskset', ['-c', String(core), command, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  const program = { name, child, pid: child.pid, log };
  running.add(program);
  child.once('error', (error) => (program.failure = error));
  child.once('exit', () => {
    running.delete(program);
    program.ended = true;
  });
  return program;
}

/**
 * Moves all processes and threads of a running program to other cores.
 * @param {string} cores cores as taskset accepts them
 */
export function pin(program, cores) {
  for (const pid of processTree(program.pid)) {
    execFileSync('taskset', ['-a', '-p', '-c', cores, String(pid)], { stdio: 'ignore' });
  }
}

/**
 * Gives all processes and threads of a running program a real-time priority (SCHED_FIFO), so that they run before
 * ordinary ones on their core.
 * @returns {boolean} false if chrt failed, for example without root
 */
export function setRealTimePriority(program) {
  return processTree(program.pid).every(
    (pid) => spawnSync('chrt', ['--all-tasks', '--fifo', '--pid', '1', String(pid)], { stdio: 'ignore' }).status === 0,
  );
}

/**
 * Calls `test` until it returns or resolves to a value other than undefined and false, and resolves to that value.
 * Rejects with the program's last output if the program exits, or after 15 s.
 */
export async function untilReady(program, test) {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadline) {
    if (program.failure) throw program.failure;
    if (program.ended) break;
    const answer = await test();
    if (answer !== undefined && answer !== false) return answer;
    await sleep(20);
  }
  const output = readFileSync(program.log, 'utf8').slice(-2_000);
  throw new Error(`${program.name} ${program.ended ? 'exited' : 'was not ready in time'}. Its last output:\n${output}`);
}

/** Resolves when the port accepts connections. Rejects like `untilReady`. */
export function untilListening(program, port) {
  return untilReady(program, () => accepts(port));
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(socket.destroy() !== undefined));
    socket.once('error', () => resolve(false));
  });
}

/** Truncates a program's log, so that request logs do not fill the disk. */
export function truncateLog(program) {
  truncateSync(program.log);
}

/** Stops a program with SIGTERM. Kills it and its descendants if it has not exited after 8 s. */
export async function stopProgram(program) {
  if (program.ended || program.pid === undefined) return;
  const tree = processTree(program.pid);
  const ended = new Promise((resolve) => program.child.once('exit', resolve));
  program.child.kill('SIGTERM');
  await Promise.race([ended, sleep(STOP_TIMEOUT_MS, undefined, { ref: false })]);
  if (!program.ended) killTree(tree);
}

/** Stops all running programs and removes the temporary folder. */
export async function stopAll() {
  await Promise.all([...running].map(stopProgram));
  removeFolder();
}

function killTree(pids) {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process has already exited.
    }
  }
}

function removeFolder() {
  if (folder) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
}

/** Stops all programs and removes the temporary folder on SIGINT, SIGTERM, SIGHUP and every exit of this process. */
export function cleanUpOnExit() {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ]) {
    process.once(signal, () => void stopAll().finally(() => process.exit(code)));
  }
  process.once('exit', () => {
    for (const program of running) if (program.pid !== undefined) killTree(processTree(program.pid));
    removeFolder();
  });
}
