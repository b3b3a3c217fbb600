/**
 * Stores the status reports of nodes in Redis, for gateways that share a Redis. A hash contains the reports. A sorted
 * set contains their times by Redis's clock.
 */
import { STATEMENT_TIMES_KEY, STATEMENTS_KEY, STATEMENTS_MS } from '../stores/redis/keys.js';
import { connectRedis, type ConnectionLog, type RedisClient } from '../stores/redis/connect.js';
import { Script } from '../stores/redis/script.js';
import {
  MAX_NODES,
  NODE_STATUS_LIFETIME_MS,
  type NodeStatusStore,
  type StoredNodeStatus,
} from './node-status-store.js';

/**
 * Writes a node's report. Deletes expired reports, and the oldest reports beyond the maximum number.
 *
 * KEYS: times, texts. ARGV: node, text, lifetime of a text (ms), maximum number of texts, lifetime of both keys (ms).
 */
const PUT_REPORT = new Script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
local gone = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3])
local extra = redis.call('ZCARD', KEYS[1]) - #gone - ARGV[4]
if extra > 0 then
  for _, node in ipairs(redis.call('ZRANGE', KEYS[1], #gone, #gone + extra - 1)) do gone[#gone + 1] = node end
end
for _, node in ipairs(gone) do
  redis.call('ZREM', KEYS[1], node)
  redis.call('HDEL', KEYS[2], node)
end
redis.call('PEXPIRE', KEYS[1], ARGV[5])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
return 1
`);

/**
 * Reads all reports that have not expired.
 *
 * KEYS: times, texts. ARGV: lifetime of a text (ms). Response: for each report the node, its age (ms) and its text.
 */
const READ_REPORTS = new Script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local said = redis.call('ZRANGEBYSCORE', KEYS[1], now - ARGV[1], '+inf', 'WITHSCORES')
local answer = {}
for at = 1, #said, 2 do
  local text = redis.call('HGET', KEYS[2], said[at])
  if text then
    answer[#answer + 1] = said[at]
    answer[#answer + 1] = now - said[at + 1]
    answer[#answer + 1] = text
  end
end
return answer
`);

const KEYS = [STATEMENT_TIMES_KEY, STATEMENTS_KEY] as const;

export class RedisNodeStatusStore implements NodeStatusStore {
  private readonly client: RedisClient;

  constructor(redisUrl: string, log: ConnectionLog) {
    this.client = connectRedis(redisUrl, 'nodes', log);
  }

  async saveStatus(id: string, text: string): Promise<void> {
    await PUT_REPORT.run(this.client, KEYS, [id, text, NODE_STATUS_LIFETIME_MS, MAX_NODES, STATEMENTS_MS]);
  }

  async listStatuses(): Promise<StoredNodeStatus[]> {
    const response = (await READ_REPORTS.run(this.client, KEYS, [NODE_STATUS_LIFETIME_MS])) as (string | number)[];
    const statements: StoredNodeStatus[] = [];
    for (let at = 0; at + 2 < response.length; at += 3) {
      statements.push({ id: String(response[at]), ageMs: Number(response[at + 1]), text: String(response[at + 2]) });
    }
    return statements;
  }

  async removeStatus(id: string): Promise<void> {
    await this.client.zrem(STATEMENT_TIMES_KEY, id);
    await this.client.hdel(STATEMENTS_KEY, id);
  }

  close(): void {
    this.client.disconnect();
  }
}
