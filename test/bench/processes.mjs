/**
 * Starts the servers of a benchmark, each pinned to one core, and stops every one of them by its id: at the end, on a
 * failure and on Ctrl-C. Also keeps the temporary folder that they all write to.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processTree } from './accounting.mjs';

/** The gateway under test has this core to itself. */
export const GATEWAY_CORE = 0;
/** Backend, load, Redis and this program share this one. */
export const LOAD_CORE = 1;

const START_TIMEOUT_MS = 15_000;
const STOP_TIMEOUT_MS = 8_000;

const running = new Set();
let folder;

/** The temporary folder of this run; removed at the end. */
export function temporaryFolder() {
  folder ??= mkdtempSync(path.join(tmpdir(), 'trailgate-bench-'));
  return folder;
}

/** A TCP port of 127.0.0.1 that was free a moment ago. */
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
 * Starts a program on one core. Its output goes to a file, which the error names when it ends too early.
 * @param {{ name: string, command: string, args: string[], core: number | string, env?: NodeJS.ProcessEnv, cwd?: string }} program
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

/** Moves a running program, with all its processes and threads, to other cores. @param {string} cores as taskset takes them */
export function pin(program, cores) {
  for (const pid of processTree(program.pid)) {
    execFileSync('taskset', ['-a', '-p', '-c', cores, String(pid)], { stdio: 'ignore' });
  }
}

/**
 * Lets a running program, with all its processes and threads, go before all that has an ordinary priority on its core.
 * @returns {boolean} false where only root may
 */
export function goFirst(program) {
  return processTree(program.pid).every(
    (pid) => spawnSync('chrt', ['--all-tasks', '--fifo', '--pid', '1', String(pid)], { stdio: 'ignore' }).status === 0,
  );
}

/** Resolves when `test()` gives a value other than undefined and false; rejects when the program ends or 15 s pass. */
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
  throw new Error(`${program.name} ${program.ended ? 'ended' : 'was not ready in time'}. Its last output:\n${output}`);
}

/** Resolves when something accepts connections on the port. */
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

/** Empties a program's log, so that a run with request logging does not fill the disk. */
export function truncateLog(program) {
  truncateSync(program.log);
}

/** Ends one program and the processes that it started; kills what is still there after 8 s. */
export async function stopProgram(program) {
  if (program.ended || program.pid === undefined) return;
  const tree = processTree(program.pid);
  const ended = new Promise((resolve) => program.child.once('exit', resolve));
  program.child.kill('SIGTERM');
  await Promise.race([ended, sleep(STOP_TIMEOUT_MS, undefined, { ref: false })]);
  if (!program.ended) killTree(tree);
}

/** Ends everything and removes the temporary folder. */
export async function stopAll() {
  await Promise.all([...running].map(stopProgram));
  removeFolder();
}

function killTree(pids) {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // it has ended by itself
    }
  }
}

function removeFolder() {
  if (folder) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
}

/** Makes Ctrl-C, SIGTERM and a crash of this program leave nothing behind. */
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
