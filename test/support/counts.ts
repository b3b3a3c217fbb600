/**
 * Counts allocations, async resources and system calls of a running program. These counts do not depend on the speed of
 * the machine.
 */
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { preload, temporaryFolder } from './processes.js';

/** Whether this system reports the reads and writes of a process. Linux does. */
export const countsAreKnown = existsSync('/proc/self/io');

/** Totals since the start of the program. */
export interface ProgramCounts {
  /**
   * Bytes allocated on the JavaScript heap of the main thread, as V8 reports them. Accurate to a few hundred kilobytes.
   */
  readonly bytes: number;
  /** Turns of the event loop. */
  readonly turns: number;
  /** System calls of all threads that read or write, for files and sockets. */
  readonly reads: number;
  readonly writes: number;
}

/** Number of async resources such as promises and timers, by their `async_hooks` type. */
export type Made = Readonly<Record<string, number>>;

/** CountedProgram reads the counts of a program. Start the program with `env`, then call `open`. */
export class CountedProgram {
  private readonly path = join(temporaryFolder('counts'), 'counts');
  /** Environment that the program must be started with. */
  readonly env: Readonly<Record<string, string>> = {
    ...preload('count-in-program.mjs'),
    TRAILGATE_TEST_COUNTS: this.path,
  };
  private socket: Socket | undefined;
  private pid = 0;

  /** Connects to the program, which must have been started with `env`. */
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

  /** Counts the async resources that are created during `work`. */
  async madeWhile(work: () => Promise<void>): Promise<Made> {
    await this.ask('watch', { withMakers: false });
    await work();
    return (await this.ask<{ made: Made }>('unwatch')).made;
  }

  /**
   * Counts the async resources that are created during `work`, by the code that created them: `Timeout: function
   * (file:line) < its caller`. Slow.
   */
  async makersWhile(work: () => Promise<void>): Promise<Made> {
    await this.ask('watch', { withMakers: true });
    await work();
    return (await this.ask<{ makers: Made }>('unwatch')).makers;
  }

  /** Counts the young-generation collections during `work`, and the bytes that they move to the old generation. */
  async promotedWhile(work: () => Promise<void>): Promise<{ readonly scavenges: number; readonly bytes: number }> {
    await this.ask('profile');
    await work();
    return this.ask('profiled');
  }

  /** Returns the bytes that each function itself allocates during `work`, by sampling. */
  async allocatedWhile(work: () => Promise<void>): Promise<Readonly<Record<string, number>>> {
    await this.ask('sample');
    await work();
    return this.ask('sampled');
  }

  private async ask<T>(command: string, options: object = {}): Promise<T> {
    const { socket } = this;
    if (socket === undefined) throw new Error('call open() before reading counts');
    socket.write(`${JSON.stringify({ command, ...options })}\n`);
    let text = '';
    while (!text.endsWith('\n')) text += String((await once(socket, 'data'))[0]);
    return JSON.parse(text) as T;
  }
}
