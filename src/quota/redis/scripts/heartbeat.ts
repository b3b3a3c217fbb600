/** A node says that it is there, as Redis hears it. */

/**
 * KEYS: the set of nodes, the epoch. ARGV: this node ('': only asks), when one is gone (ms), how long the set lives
 * (ms), the epoch of the store that the node has handed in to all that it knows ('': none; Redis does not ask), a
 * random number: the epoch where there is none; how long the epoch lives (ms). Response: how many there are, how many
 * of them have a name before this one's, whether this one was not among them, the epoch; from the counting process, 1
 * where it waits for nodes that have not handed in.
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
