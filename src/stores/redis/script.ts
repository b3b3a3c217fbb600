/** A Lua script that is sent by its hash, and with its source if the server does not know it (restart, failover). */
import { hash } from 'node:crypto';
import type { RedisClient } from './connect.js';
import type { ScriptSource } from './script-command.js';

export class Script implements ScriptSource {
  readonly sha: string;

  constructor(readonly source: string) {
    this.sha = hash('sha1', source);
  }

  /** Runs the script. Rejects like the client. A call that may have been executed is never sent again. */
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
