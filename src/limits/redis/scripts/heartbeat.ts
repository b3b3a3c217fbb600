/** A node says that it is there, as Redis hears it. */

/**
 * KEYS: the set of nodes. ARGV: this node ('': only asks), when one is gone (ms), how long the set lives (ms), whether
 * the node has handed in what it knows (1; Redis does not ask). Response: how many there are, how many of them have a
 * name before this one's, whether this one was not among them; from the counting process, 1 where it waits for that.
 */
export const HEARTBEAT_LUA = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local isNew = 0
if ARGV[1] ~= '' then isNew = redis.call('ZADD', KEYS[1], now, ARGV[1]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local rank = 0
local nodes = redis.call('ZRANGE', KEYS[1], 0, -1)
for _, node in ipairs(nodes) do
  if node < ARGV[1] then rank = rank + 1 end
end
return {#nodes, rank, isNew}
`;
