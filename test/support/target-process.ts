/** Starts backends as processes, and records the requests that reach them. */
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { eventually, freePort, spawnOwned, type OwnedProcess } from './processes.js';

const PROGRAM = resolve('test/support/target-program.mjs');

export interface TargetProcess {
  readonly url: string;
  /** Requests such as `GET /open?id=1`, in order of arrival. Includes those before a restart. */
  readonly arrivals: readonly string[];
  signal(name: NodeJS.Signals): void;
  kill9(): Promise<void>;
  /** Starts the process again on the same port. The process must have ended. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a backend that responds `ok`. The caller must stop it. For its signals, see `target-program.mjs`. */
export async function startTargetProcess(): Promise<TargetProcess> {
  const port = await freePort();
  const arrivals: string[] = [];
  let current: OwnedProcess;
  const restart = async (): Promise<void> => {
    const started = spawnOwned(process.execPath, [PROGRAM, String(port)]);
    current = started;
    let listens = false;
    if (started.child.stdout !== null) {
      createInterface({ input: started.child.stdout }).on('line', (line) => {
        if (line === 'listening') listens = true;
        else arrivals.push(line);
      });
    }
    await eventually('the target listens', () => listens);
  };
  await restart();
  const end = async (): Promise<void> => {
    if (current.isRunning()) await current.end('SIGKILL');
  };
  return {
    url: `http://127.0.0.1:${port}`,
    arrivals,
    signal: (name) => void current.child.kill(name),
    kill9: end,
    restart,
    stop: end,
  };
}

/** Counts how often each request reached any of the targets. */
export function arrivalsOf(targets: readonly TargetProcess[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { arrivals } of targets) {
    for (const line of arrivals) counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  return counts;
}
