/**
 * A script call that its caller has written down: ioredis sends the text in its turn and hands back the bytes of the
 * response. It does nothing for each argument, and makes no timer, no promise and no function.
 */
import type { Command } from 'ioredis';
import type { RedisClient } from './connect.js';

/** A script and the SHA-1 that a server knows it by. */
export interface ScriptSource {
  readonly source: string;
  readonly sha: string;
}

/** What is called, and who is told how it ended: one of the two, once, and perhaps before `sendScript` returns. */
export interface WrittenCall {
  readonly script: ScriptSource;
  readonly keyCount: number;
  readonly argumentCount: number;
  /** Keys and arguments, each as `bulkText` writes it. */
  readonly text: string;
  /** Slot of the keys in a Cluster. */
  readonly slot: number;
  /** Must not throw: it is called amid the responses of others. */
  answered(response: unknown): void;
  /** Must not throw. */
  failed(error: Error): void;
}

/** A text as RESP sends it (bulk string). */
export function bulkText(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

/** The same of a text that is ASCII: its bytes need not be counted. */
export function plainText(ascii: string): string {
  return `$${ascii.length}\r\n${ascii}\r\n`;
}

/**
 * Sends a call by the script's hash, and whole where the server does not know it (a restart, a failover): never twice
 * after it may have run. Without a deadline: whoever waits has one.
 * @param isWhole whether the server gets the script itself at once.
 */
export function sendScript(client: RedisClient, call: WrittenCall, isWhole = false): void {
  client.sendCommand(new ScriptCommand(call, isWhole, client) as unknown as Command);
}

/** What ioredis asks of a command that it is given. */
type AskedOfCommand = Pick<
  Command,
  | 'name'
  | 'args'
  | 'promise'
  | 'inTransaction'
  | 'isTraced'
  | 'isSettled'
  | 'resolve'
  | 'reject'
  | 'toWritable'
  | 'getSlot'
  | 'getKeys'
  | 'setReplyContext'
  | 'setTimeout'
>;

const NO_ARGUMENTS: [] = [];
/** For whoever traces commands; the call itself is told. */
const NOBODY_WAITS = Promise.resolve();

/**
 * It does not extend ioredis's own command: that makes a promise and assigns functions to its properties, which V8
 * allocates among the old objects (decision 0026). Whatever they reach would stay until the next full collection: the
 * call, and every request in it.
 */
export class ScriptCommand implements AskedOfCommand {
  readonly name: string;
  readonly args = NO_ARGUMENTS;
  readonly promise = NOBODY_WAITS;
  readonly inTransaction = false;
  isTraced = false;
  /**
   * Undefined when it has ended: in a Cluster ioredis assigns a function to
   * `reject`, which keeps this command for long.
   */
  call: WrittenCall | undefined;

  constructor(
    call: WrittenCall,
    /** Whether the server gets the script itself. */
    private readonly isWhole: boolean,
    private readonly client: RedisClient,
  ) {
    this.name = isWhole ? 'eval' : 'evalsha';
    this.call = call;
  }

  get isSettled(): boolean {
    return this.call === undefined;
  }

  resolve(response: unknown): void {
    this.end()?.answered(response);
  }

  reject(error: Error): void {
    const call = this.end();
    if (call === undefined) return;
    if (this.isWhole || !error.message.startsWith('NOSCRIPT')) call.failed(error);
    else sendScript(this.client, call, true);
  }

  private end(): WrittenCall | undefined {
    const { call } = this;
    this.call = undefined;
    return call;
  }

  toWritable(): string {
    const { call } = this;
    if (call === undefined) throw new Error('a call that has ended is not sent again');
    const { script, keyCount, argumentCount, text } = call;
    const name = this.isWhole
      ? `$4\r\neval\r\n${bulkText(script.source)}`
      : `$7\r\nevalsha\r\n$40\r\n${script.sha}\r\n`;
    return `*${3 + keyCount + argumentCount}\r\n${name}${plainText(String(keyCount))}${text}`;
  }

  getSlot(): number {
    return this.call?.slot ?? 0;
  }

  getKeys(): [] {
    return NO_ARGUMENTS;
  }

  /** Responses come as bytes, whatever the protocol. */
  setReplyContext(): void {}

  /** ioredis's own deadline: a timer for each call, and later than the caller's. */
  setTimeout(): void {}
}
