/**
 * Contains the heartbeat script, which registers a node, and returns the node's position and the epoch of the store.
 */

/**
 * Registers a heartbeat, and removes nodes without recent heartbeats.
 *
 * KEYS: the set of nodes, the epoch.
 *
 * ARGV:
 * - this node's name (empty: read only)
 * - time after which a node without heartbeats is removed (ms)
 * - the set's time to live (ms)
 * - epoch of the store to which the node has reported all of its counts (empty: none). Redis ignores this argument.
 * - a random number, which becomes the epoch if there is none
 * - the epoch's time to live (ms)
 *
 * Response:
 * - number of nodes
 * - number of nodes whose name sorts before this node's name
 * - 1 if this node was missing in the set
 * - the epoch
 * - from the counting process only: 1 if the process waits for nodes that have not reported
 */
export const HEARTBEAT_LUA = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local isNew = 0
if ARGV[1] ~= '' then isNew = redis.call('ZADD', KEYS[1], now, ARGV[1]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local epoch = redis.call('GET', KEYS[2]) or ARGV[5]
redis.call('SET', KEYS[2], epoch, 'PX', ARGV[6])
local rank = 0
local nodes = redis.call('ZRANGE', KEYS[1], 0, -1)
for _, node in ipairs(nodes) do
  if node < ARGV[1] then rank = rank + 1 end
end
return {#nodes, rank, isNew, tonumber(epoch)}
`;
