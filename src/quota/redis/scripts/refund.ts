/** The way back of a cost, as Redis runs it: out of every window that still holds it. */
import { WINDOW_LUA } from './window.js';

/** Functions that refund a cost. */
export const REFUND_FUNCTIONS_LUA = `${WINDOW_LUA}
-- The first bucket from 'bucket' on that holds a count; the last one when none does.
local function counted(w, bucket)
  while bucket < w[2] and (tonumber(redis.call('HGET', w[1], bucket % BUCKETS)) or 0) == 0 do bucket = bucket + 1 end
  return math.min(bucket, w[2])
end

-- Takes a cost that was counted in 'bucket' out of every window that still holds it; never goes below zero. What has
-- left the ring, or belongs to another month, or was counted (in ms 'atMs', where that is known) before the month was
-- set, stays as it is. 'today': the month that it is now with the one after it and the time to live, where the counter
-- is to be brought to that first. Returns how much the month refunded and what it has used since.
local function back(w, cost, bucket, period, following, atMs, today)
  if not w then return 0, 0 end
  local key = w[1]
  if today then turn(w, today[1], today[2]) end
  if bucket > w[2] - BUCKETS and bucket <= w[2] then
    local held = tonumber(redis.call('HGET', key, bucket % BUCKETS)) or 0
    local returned = math.min(cost, held)
    if returned > 0 then
      redis.call('HSET', key, 'l', w[2], 's', w[3] - returned, 'o', w[4], bucket % BUCKETS, held - returned)
      if bucket == w[4] and returned == held then redis.call('HSET', key, 'o', counted(w, bucket + 1)) end
    end
  end
  if w[5] < period or w[5] >= following then return 0, 0 end
  -- Of another month, where it has just come from there.
  local setAt = not w[9] and tonumber(redis.call('HGET', key, 't')) or -1
  if (atMs or bucket * 1000) <= setAt then return 0, w[6] end
  local month = math.min(cost, w[6])
  if w[9] then
    redis.call('HSET', key, 'p', w[5])
    turned(w, today[3])
  end
  redis.call('HSET', key, 'u', w[6] - month)
  return month, w[6] - month
end
`;

/**
 * Refunds a cost. KEYS: counters. ARGV: cost, bucket that it was counted in, ms in which it was counted, month label,
 * label of the month after it, the same two of the month that it is now, time to live (ms, absolute), the node (empty:
 * as if it had handed in). Response: time in µs, then for each counter how much its month refunded and what it has used
 * since; in their place -1 when a counter is missing, or -2 when the node has to hand in first: then nothing was
 * refunded.
 */
export const REFUND_LUA = `${REFUND_FUNCTIONS_LUA}
local time = redis.call('TIME')
local now = tonumber(time[1])
local out = {now * 1000000 + tonumber(time[2])}
local cost, bucket, atMs, period, following =
  tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local today = {tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]}
local node, counters = ARGV[9] ~= '' and ARGV[9], {}
for i = 1, #KEYS do
  counters[i] = young(load(KEYS[i], now), now, node)
  if node and not counters[i] then return {out[1], -1} end
  if node and counters[i][11] then return {out[1], -2} end
end
for i = 1, #KEYS do
  out[i * 2], out[i * 2 + 1] = back(counters[i], cost, bucket, period, following, atMs, today)
end
return out
`;
