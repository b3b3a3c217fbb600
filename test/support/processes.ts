/**
 * Processes, ports and folders of the tests. Everything started here ends with the process that started it, even if it
 * is killed. A small shell holds the list of process IDs and folders, and clears the rest once its input closes. Exit
 * handlers would not work: Jest gives each test file a copy of `process` on which they never run.
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

/** Other work may share the machine. */
const PATIENCE_MS = 30_000;
/** Between two looks at what is waited for. */
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
  /** Settles when it has ended, however that came about. */
  readonly exited: Promise<Exit>;
  /** False once it has ended. */
  isRunning(): boolean;
  /** Sends the signal and waits; after `timeoutMs` it is killed and the promise rejects. */
  end(signal: NodeJS.Signals, timeoutMs?: number): Promise<Exit>;
}

/**
 * Starts a command as a child that ends with this process. Does not keep the event loop alive. One that is `detached` is a group, which ends
 * whole: a command may be a script that starts the program and waits for it.
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

/** Below those that systems give to whoever connects, which would be taken before a program that starts has come to listen. */
const LOWEST_PORT = 12_000;
const HIGHEST_PORT = 32_000;

/** A TCP port of 127.0.0.1 that is free, and that nobody is given who does not ask for it by its number. */
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
  throw new Error('no port');
}

/** A new temporary folder that other users of the machine (PostgreSQL's) can walk through. Goes with this process. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `trailgate-${name}-`));
  chmodSync(folder, 0o711);
  tellReaper(`folder ${folder}`);
  return folder;
}

/** Returns the environment that has a program load a module of `test/support` before anything else. */
export function preload(module: string): { readonly NODE_OPTIONS: string } {
  return { NODE_OPTIONS: `--import=${new URL(module, import.meta.url).href}` };
}

/** Waits; the timer keeps the event loop alive. */
export function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

/**
 * Calls `check` until it returns true, often at first. Rejects with `what` after `timeoutMs` in which the machine had
 * time for us. A test gives less than usual only if it states that something is quick.
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
      throw new Error(`waited ${timeoutMs} ms in vain until ${what}`);
    }
    await sleep(Math.min(LONGEST_PAUSE_MS, 1 + waitedMs));
  }
}
