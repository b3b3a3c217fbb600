/**
 * Stores idempotency records in Redis. Each record is a hash with an expiration. Redis measures all times with its own
 * clock. Methods reject if Redis is unavailable.
 */
import type { Logger } from '../platform/log.js';
import type { RedisClient } from '../stores/redis/connect.js';
import { idempotencyKey } from '../stores/redis/keys.js';
import { Script } from '../stores/redis/script.js';
import type { ClaimTerms, Claimed, StoredResponse, Outcome, RecordName, RecordStore, Room } from './record.js';
import { RedisRoom } from './redis-room.js';
import { CLAIM_LUA, END_LUA, EXTEND_LUA, RELEASE_LUA } from './redis-scripts.js';

const CLAIM = new Script(CLAIM_LUA);
const EXTEND = new Script(EXTEND_LUA);
const END = new Script(END_LUA);
const RELEASE = new Script(RELEASE_LUA);
/** State for each number that `CLAIM_LUA` returns. Other numbers mean `done`. */
const STATES = ['claimed', 'under_way', 'unknown', 'mismatch'] as const;

/** RedisRecords stores the records of the gateway if Redis is configured. All nodes share these records. */
export class RedisRecords implements RecordStore {
  private readonly memory: RedisRoom;

  constructor(
    private readonly client: RedisClient,
    log: Logger,
  ) {
    this.memory = new RedisRoom(client, log);
  }

  get room(): Room {
    return this.memory.room;
  }

  async claim({ name, fingerprint, owner, leaseMs, retentionMs }: ClaimTerms): Promise<Claimed> {
    const args = [fingerprint, owner, leaseMs, retentionMs];
    const found = (await CLAIM.run(this.client, [keyOf(name)], args)) as [number, string?, string?, number?];
    const [state, status, bodyHash = '', isKept] = found;
    const known = STATES[state];
    return known === undefined
      ? { state: 'done', status: Number(status), bodyHash, isKept: isKept === 1 }
      : { state: known };
  }

  async extend(claims: readonly ClaimTerms[]): Promise<void> {
    // Send one command per record, all at once. In a Redis Cluster, a single script cannot use keys of different slots.
    await Promise.all(
      claims.map(({ name, owner, leaseMs }) => EXTEND.run(this.client, [keyOf(name)], [owner, leaseMs])),
    );
  }

  async end({ name, fingerprint, owner, retentionMs }: ClaimTerms, outcome: Outcome): Promise<boolean> {
    const args: (string | number | Buffer)[] = [owner, fingerprint, retentionMs];
    if (outcome.kind === 'done') {
      const { status, bodyHash, response } = outcome;
      args.push(status, bodyHash);
      if (response !== undefined) args.push(response.code, Buffer.from(response.lines, 'latin1'), response.body);
    }
    return (await END.run(this.client, [keyOf(name)], args)) === 1;
  }

  async release({ name, owner }: ClaimTerms): Promise<void> {
    await RELEASE.run(this.client, [keyOf(name)], [owner]);
  }

  async read(name: RecordName): Promise<StoredResponse | undefined> {
    const [status, code, lines, body] = await this.client.hmgetBuffer(keyOf(name), 's', 'c', 'f', 'r');
    if (!status || !code || !lines || !body) return undefined;
    return { status: Number(status.toString()), code: code.toString(), lines: lines.toString('latin1'), body };
  }

  close(): void {
    this.memory.stop();
    this.client.disconnect();
  }
}

function keyOf({ caller, keyHash }: RecordName): string {
  return idempotencyKey(caller, keyHash);
}
