/**
 * Starts processes, finds ports and creates folders for tests. All of them end with the process that called these
 * functions, even if it is killed and runs no exit handlers. A small shell has the list of process IDs and folders.
 * When its input closes, it kills and removes what is left.
 */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { quietMsSince } from './machine-time.js';

const REAPER = `
trap '' INT TERM HUP
pids=''
set --
while read -r verb what; do
  case $verb in
    started) pids="$pids $what" ;;
    ended) left=''; for pid in $pids; do [ "$pid" = "$what" ] || left="$left $pid"; done; pids=$left ;;
    folder) set -- "$@" "$what" ;;
  esac
done
[ -z "$pids" ] || { kill -9 $pids; sleep 1; } 2>/dev/null
for folder in "$@"; do case $folder in */trailgate-*) rm -rf -- "$folder" ;; esac; done
`;

/** Default time to wait for a condition. Long, because the machine may be busy with other work. */
const PATIENCE_MS = 30_000;
/** Maximum pause between two checks of a condition. */
const LONGEST_PAUSE_MS = 20;

let reaper: Writable | undefined;

function tellReaper(line: string): void {
  if (reaper === undefined) {
    const shell = spawn('/bin/sh', ['-c', REAPER], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    shell.unref();
    (shell.stdin as unknown as { unref(): void }).unref();
    shell.stdin.on('error', () => {});
    reaper = shell.stdin;
  }
  reaper.write(`${line}\n`);
}

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A child process that cannot outlive this one. */
export interface OwnedProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Resolves when the process has ended, for any reason. */
  readonly exited: Promise<Exit>;
  isRunning(): boolean;
  /** Sends the signal and waits for the end. After `timeoutMs`, kills the process and rejects. */
  end(signal: NodeJS.Signals, timeoutMs?: number): Promise<Exit>;
}

/**
 * Starts a command as a child process that ends with this process. It does not keep the event loop alive. A `detached`
 * child is a process group. If this process ends first, the whole group is killed, because the command may be a script
 * that has started the program.
 */
export function spawnOwned(command: string, args: readonly string[], options: SpawnOptions = {}): OwnedProcess {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${command} could not be started`);
  const reaped = options.detached === true ? -pid : pid;
  tellReaper(`started ${reaped}`);
  for (const handle of [child, child.stdout, child.stderr] as ({ unref?(): void } | null)[]) handle?.unref?.();

  const exited = once(child, 'exit').then(([code, signal]) => {
    tellReaper(`ended ${reaped}`);
    return { code, signal } as Exit;
  });
  const isRunning = () => child.exitCode === null && child.signalCode === null;

  async function end(signal: NodeJS.Signals, timeoutMs = 20_000): Promise<Exit> {
    child.ref();
    if (isRunning()) child.kill(signal);
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
    }, timeoutMs);
    const exit = await exited;
    clearTimeout(timer);
    if (timedOut) throw new Error(`${command} (pid ${pid}) was still running ${timeoutMs} ms after ${signal}`);
    return exit;
  }

  return { child, pid, exited, isRunning, end };
}

/**
 * Ports below the ephemeral range of common systems. The system could give an ephemeral port to an outgoing connection
 * before the program that is to listen on it has started.
 */
const LOWEST_PORT = 12_000;
const HIGHEST_PORT = 32_000;

/** Returns a free TCP port of 127.0.0.1, outside the ephemeral range. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = LOWEST_PORT + Math.floor(Math.random() * (HIGHEST_PORT - LOWEST_PORT));
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    await new Promise((done) => server.close(done));
    return port;
  }
  throw new Error('no free port found');
}

/** Creates a temporary folder, removed when this process ends. Other users, such as `postgres`, can traverse it. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `trailgate-${name}-`));
  chmodSync(folder, 0o711);
  tellReaper(`folder ${folder}`);
  return folder;
}

/** Returns environment variables that make a program load a module of `test/support` before anything else. */
export function preload(module: string): { readonly NODE_OPTIONS: string } {
  return { NODE_OPTIONS: `--import=${new URL(module, import.meta.url).href}` };
}

/** Resolves after `ms` milliseconds. The timer keeps the event loop alive. */
export function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

/**
 * Calls `check` until it returns true, with growing pauses. Rejects with `what` after `timeoutMs`. During the first 30
 * seconds, time in which the machine was busy with other work does not count. Pass a shorter timeout only to assert
 * that something is quick.
 */
export async function eventually(
  what: string,
  check: () => boolean | Promise<boolean>,
  timeoutMs = PATIENCE_MS,
): Promise<void> {
  const startedMs = performance.now();
  while (!(await check())) {
    const waitedMs = performance.now() - startedMs;
    if (waitedMs > Math.max(timeoutMs, PATIENCE_MS) || (waitedMs > timeoutMs && quietMsSince(startedMs) > timeoutMs)) {
      throw new Error(`timed out after ${timeoutMs} ms waiting until ${what}`);
    }
    await sleep(Math.min(LONGEST_PAUSE_MS, 1 + waitedMs));
  }
}
