/**
 * Runs a Lua script in Redis by its hash. If the server does not know the script, for example after a restart or
 * failover, sends the source.
 */
import { hash } from 'node:crypto';
import type { RedisClient } from './connect.js';
import type { ScriptSource } from './script-command.js';

export class Script implements ScriptSource {
  readonly sha: string;

  constructor(readonly source: string) {
    this.sha = hash('sha1', source);
  }

  /**
   * Runs the script and returns the response. Rejects with the error of Redis or the client. Never repeats a call that
   * may have been executed.
   */
  async run(
    client: RedisClient,
    keys: readonly string[],
    args: readonly (string | number | Buffer)[],
  ): Promise<unknown> {
    try {
      return await client.evalsha(this.sha, keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return await client.eval(this.source, keys.length, ...keys, ...args);
    }
  }
}
