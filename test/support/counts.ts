/** Counts allocations, objects and system calls of the running program. They are the same on slow and fast machines. */
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { preload, temporaryFolder } from './processes.js';

/** Whether this system tells how often a process reads and writes (Linux does). */
export const countsAreKnown = existsSync('/proc/self/io');

/** Sums since the program began. */
export interface ProgramCounts {
  /** On the JavaScript heap of the main thread, by V8's own account, which is good to some hundred kilobytes. */
  readonly bytes: number;
  /** Turns of the event loop. */
  readonly turns: number;
  /** System calls of all threads that read, and that write, files and sockets alike. */
  readonly reads: number;
  readonly writes: number;
}

/** Promises, timers and the like by the names that `async_hooks` has for them. */
export type Made = Readonly<Record<string, number>>;

export class CountedProgram {
  private readonly path = join(temporaryFolder('counts'), 'counts');
  /** Environment of the program that is to be counted. */
  readonly env: Readonly<Record<string, string>> = {
    ...preload('count-in-program.mjs'),
    TRAILGATE_TEST_COUNTS: this.path,
  };
  private socket: Socket | undefined;
  private pid = 0;

  /** Begins to ask the program, which has been started with `env`. */
  async open(pid: number): Promise<void> {
    this.pid = pid;
    this.socket = connect(this.path);
    this.socket.setEncoding('utf8');
    await once(this.socket, 'connect');
  }

  close(): void {
    this.socket?.destroy();
  }

  async read(): Promise<ProgramCounts> {
    const inside = await this.ask<Pick<ProgramCounts, 'bytes' | 'turns'>>('read');
    const io = readFileSync(`/proc/${this.pid}/io`, 'utf8');
    const of = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(io)?.[1]);
    return { ...inside, reads: of('syscr'), writes: of('syscw') };
  }

  /** Returns what is made during the work. */
  async madeWhile(work: () => Promise<void>): Promise<Made> {
    await this.ask('watch', { withMakers: false });
    await work();
    return (await this.ask<{ made: Made }>('unwatch')).made;
  }

  /** The same by who made it, `Timeout: function (file:line) < its caller`; slow. */
  async makersWhile(work: () => Promise<void>): Promise<Made> {
    await this.ask('watch', { withMakers: true });
    await work();
    return (await this.ask<{ makers: Made }>('unwatch')).makers;
  }

  /** How many collections of the young generation come while something is done, and how many bytes they move to the old one. */
  async promotedWhile(work: () => Promise<void>): Promise<{ readonly scavenges: number; readonly bytes: number }> {
    await this.ask('profile');
    await work();
    return this.ask('profiled');
  }

  /** Bytes that functions allocate themselves while something is done, by sampling. */
  async allocatedWhile(work: () => Promise<void>): Promise<Readonly<Record<string, number>>> {
    await this.ask('sample');
    await work();
    return this.ask('sampled');
  }

  private async ask<T>(command: string, options: object = {}): Promise<T> {
    const { socket } = this;
    if (socket === undefined) throw new Error('the program has not been opened');
    socket.write(`${JSON.stringify({ command, ...options })}\n`);
    let text = '';
    while (!text.endsWith('\n')) text += String((await once(socket, 'data'))[0]);
    return JSON.parse(text) as T;
  }
}
