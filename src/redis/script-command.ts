/**
 * A script call that its caller has written down: ioredis sends the text in its turn and hands back the bytes of the answer. It does
 * nothing for each argument, makes no timer, and no promise that anybody waits for.
 */
import { Command } from 'ioredis';
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
  /** Must not throw: it is called amid the answers of others. */
  answered(answer: unknown): void;
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
 * Sends a call by the script's hash, and whole where the server does not know it (a restart, a failover): never twice after it may have
 * run. Without a deadline: whoever waits has one.
 */
export function sendScript(client: RedisClient, call: WrittenCall): void {
  client.sendCommand(new ScriptCommand(call, false, client));
}

export class ScriptCommand extends Command {
  constructor(
    readonly call: WrittenCall,
    /** Whether the server gets the script itself. */
    private readonly isWhole: boolean,
    client: RedisClient,
  ) {
    super(isWhole ? 'eval' : 'evalsha');
    this.resolve = (answer: unknown) => {
      this.isSettled = true;
      call.answered(answer);
    };
    this.reject = (error: Error) => {
      this.isSettled = true;
      if (isWhole || !error.message.startsWith('NOSCRIPT')) call.failed(error);
      else client.sendCommand(new ScriptCommand(call, true, client));
    };
  }

  override toWritable(): string {
    const { script, keyCount, argumentCount, text } = this.call;
    const name = this.isWhole
      ? `$4\r\neval\r\n${bulkText(script.source)}`
      : `$7\r\nevalsha\r\n$40\r\n${script.sha}\r\n`;
    return `*${3 + keyCount + argumentCount}\r\n${name}${bulkText(String(keyCount))}${text}`;
  }

  override getSlot(): number {
    return this.call.slot;
  }

  /** ioredis's own deadline: a timer for each call, and later than the caller's. */
  override setTimeout(): void {}
}
