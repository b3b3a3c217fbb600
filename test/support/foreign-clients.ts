/**
 * Runs the third-party HTTP clients of `test/clients/`, each in a separate process. Waits of a client take virtual time
 * only.
 */
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pythonOf } from './foreign-packages.js';
import { spawnOwned, type OwnedProcess } from './processes.js';

/** Folder of the installed clients, relative to the project. */
export const CLIENTS_FOLDER = 'test/clients';
const FOLDER = resolve(CLIENTS_FOLDER);

/** Clients for Node: package name, optionally followed by a comma and a setting. See `test/clients`. */
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

/** A request that a client makes. */
export interface ClientCall {
  readonly origin: string;
  readonly secret: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
}

/** The result of a call. */
export interface ClientOutcome {
  /** Message of the error that the client threw; null if it threw none. */
  readonly text: string | null;
  /** The problem's `detail`, if the client exposes it to its caller; otherwise null. */
  readonly detail: string | null;
  /** Waits of the client between attempts, in ms. */
  readonly waitsMs: readonly number[];
}

/** Returns the installed version of a client, or an empty string if it is unknown. */
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

/** A client's process. The test must stop it. */
export class ClientProcess {
  private readonly process: OwnedProcess;
  private readonly child: ChildProcess;
  private readonly waiting: ((message: Message) => void)[] = [];
  private readonly received: Message[] = [];

  /** @param onWait called when the client waits; the client continues when the result has settled */
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

  /** Resolves when the client is loaded. Returns the expression for the problem's `detail` in the client's error. */
  async ready(): Promise<string> {
    return (await this.next()).detailOf ?? '';
  }

  /** Makes a call. Calls `onWait` for every wait of the client. */
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
      throw new Error(`the process of ${this.client} exited with ${code ?? signal}`);
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
