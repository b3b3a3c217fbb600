/** The HTTP clients of `test/clients/` that integrators use: each in a process of its own, in which nobody really sleeps. */
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pythonOf } from './foreign-packages.js';
import { spawnOwned, type OwnedProcess } from './processes.js';

/** Folder of the installed clients. */
export const CLIENTS_FOLDER = 'test/clients';
const FOLDER = resolve(CLIENTS_FOLDER);

/** Clients for Node: the name of a package, and behind a comma its setting. See test/clients. */
export const NODE_CLIENTS = [
  'stripe',
  'openai',
  '@anthropic-ai/sdk',
  'got',
  'ky',
  'axios-retry',
  'undici',
  'undici, throwOnError: false',
  'octokit',
  'octokit, doNotRetry: [429, 500, 502, 504, …]',
];
export const PYTHON_CLIENTS = ['requests', 'requests, raise_on_status=False', 'httpx'];

/** A call of a client. */
export interface ClientCall {
  readonly origin: string;
  readonly secret: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
}

/** The result of a call. */
export interface ClientOutcome {
  /** The words of the error that it threw; null where it threw none. */
  readonly text: string | null;
  /** The words of the problem, as far as the client lets its caller have them. */
  readonly detail: string | null;
  readonly waitsMs: readonly number[];
}

/** The version of a client that is installed. */
export function clientVersion(client: string): string {
  const [name = ''] = client.split(',');
  return versions()[name] ?? '';
}

function versions(): Readonly<Record<string, string>> {
  const { dependencies } = JSON.parse(readFileSync(join(FOLDER, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const pinned = readFileSync(join(FOLDER, 'requirements.txt'), 'utf8').matchAll(/^(\S+)==(\S+)$/gm);
  return { ...dependencies, ...Object.fromEntries(Array.from(pinned, ([, name, version]) => [name, version])) };
}

/** A client's process. */
export class ClientProcess {
  private readonly process: OwnedProcess;
  private readonly child: ChildProcess;
  private readonly waiting: ((message: Message) => void)[] = [];
  private readonly received: Message[] = [];

  /** @param onWait what has to happen while the client waits, before the wait is over. */
  constructor(
    readonly client: string,
    private readonly onWait: (waitedMs: number) => Promise<void> | void,
  ) {
    const isPython = PYTHON_CLIENTS.includes(client);
    const env = { PATH: process.env['PATH'] ?? '' };
    const options: SpawnOptions = isPython
      ? { cwd: FOLDER, env, stdio: ['pipe', 'pipe', 'inherit'] }
      : { cwd: FOLDER, env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] };
    this.process = isPython
      ? spawnOwned(pythonOf(FOLDER), ['run.py', client], options)
      : spawnOwned(process.execPath, ['--import', './virtual-time.mjs', 'run.mjs', client], options);
    this.child = this.process.child;
    this.child.on('message', (message) => this.take(message as Message));
    if (this.child.stdout !== null) {
      createInterface({ input: this.child.stdout }).on('line', (line) => this.take(JSON.parse(line) as Message));
    }
  }

  /** Resolves when the client has been loaded, to where it has the words of a problem. */
  async ready(): Promise<string> {
    return (await this.next()).detailOf ?? '';
  }

  /** Makes the call, and lets it wait as long as it wants to. */
  async call(call: ClientCall): Promise<ClientOutcome> {
    this.tell(call);
    for (;;) {
      const message = await this.next();
      const { text = null, detail = null, waitsMs } = message;
      if (waitsMs !== undefined) return { text, detail, waitsMs };
      await this.onWait(message.waitedMs ?? 0);
      this.tell({ waited: true });
    }
  }

  async stop(): Promise<void> {
    await this.process.end('SIGKILL');
  }

  private tell(message: object): void {
    if (this.child.stdin === null) this.child.send(message);
    else this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  private take(message: Message): void {
    const next = this.waiting.shift();
    if (next === undefined) this.received.push(message);
    else next(message);
  }

  private async next(): Promise<Message> {
    const [message] = this.received.splice(0, 1);
    if (message !== undefined) return message;
    const ended = this.process.exited.then(({ code, signal }) => {
      throw new Error(`the process of ${this.client} ended with ${code ?? signal}`);
    });
    return Promise.race([ended, new Promise<Message>((resolve) => void this.waiting.push(resolve))]);
  }
}

interface Message {
  readonly detailOf?: string;
  readonly waitedMs?: number;
  readonly text?: string | null;
  readonly detail?: string | null;
  readonly waitsMs?: readonly number[];
}
