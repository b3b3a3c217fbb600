/**
 * Sends a script call whose RESP text the caller has prepared. ioredis only sends the text and returns the raw
 * response. Unlike a command of ioredis, such a call needs no work per argument, no timer, no promise and no function.
 */
import type { Command } from 'ioredis';
import type { RedisClient } from './connect.js';

/** ScriptSource is a Lua script with the SHA-1 that identifies it on the server. */
export interface ScriptSource {
  readonly source: string;
  readonly sha: string;
}

/**
 * WrittenCall is a prepared call with its callbacks. Exactly one of `onResult` and `onError` is called, possibly before
 * `sendScript` returns.
 */
export interface WrittenCall {
  readonly script: ScriptSource;
  readonly keyCount: number;
  readonly argumentCount: number;
  /** Keys and arguments, each encoded with `bulkText`. */
  readonly text: string;
  readonly slot: number;
  /** Receives the response. Must not throw, because it runs between the responses of other calls. */
  onResult(response: unknown): void;
  /** Receives the error. Must not throw. */
  onError(error: Error): void;
}

/** Encodes a text as a RESP bulk string. */
export function bulkText(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

/** Encodes an ASCII text as a RESP bulk string. Faster than `bulkText`, because each character is one byte. */
export function plainText(ascii: string): string {
  return `$${ascii.length}\r\n${ascii}\r\n`;
}

/**
 * Sends a call by the script's hash. If the server does not know the script (after a restart or failover), sends the
 * call again with the source. Never repeats a call that may have been executed. The call has no deadline, so the caller
 * must set one.
 * @param withSource sends the source right away
 */
export function sendScript(client: RedisClient, call: WrittenCall, withSource = false): void {
  client.sendCommand(new ScriptCommand(call, withSource, client) as unknown as Command);
}

/** CommandMembers are the members of a command that ioredis uses. */
type CommandMembers = Pick<
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
/** Placeholder for `promise`. The callbacks of the call receive the result. */
const RESOLVED = Promise.resolve();

/**
 * ScriptCommand is a command for ioredis. It does not extend ioredis's `Command`, which creates a promise and assigns
 * functions to its properties. V8 allocates these functions among the old objects (decision 0026). The functions would
 * keep the call and all its requests in memory until the next full collection.
 */
export class ScriptCommand implements CommandMembers {
  readonly name: string;
  readonly args = NO_ARGUMENTS;
  readonly promise = RESOLVED;
  readonly inTransaction = false;
  isTraced = false;
  /**
   * The call, or undefined after its end. In a Cluster, ioredis assigns a function to `reject`, which keeps this
   * command in memory for a long time.
   */
  call: WrittenCall | undefined;

  constructor(
    call: WrittenCall,
    private readonly withSource: boolean,
    private readonly client: RedisClient,
  ) {
    this.name = withSource ? 'eval' : 'evalsha';
    this.call = call;
  }

  get isSettled(): boolean {
    return this.call === undefined;
  }

  resolve(response: unknown): void {
    this.end()?.onResult(response);
  }

  reject(error: Error): void {
    const call = this.end();
    if (call === undefined) return;
    if (this.withSource || !error.message.startsWith('NOSCRIPT')) call.onError(error);
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
    const name = this.withSource
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

  /** Ignored, because responses are always returned as bytes. */
  setReplyContext(): void {}

  /** Ignored, because ioredis would create a timer per call, and the caller's deadline is shorter. */
  setTimeout(): void {}
}
