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
-- set, stays as it is. 'today': the month that it is now with the one after it, the day and the time to live, where the
-- counter is to be brought to that first. Returns how much the month refunded, and what month and day have used since.
local function back(w, cost, bucket, period, following, day, atMs, today)
  if not w then return 0, 0, 0 end
  local key = w[1]
  if today then turn(w, today[1], today[2], today[3]) end
  if bucket > w[2] - BUCKETS and bucket <= w[2] then
    local held = tonumber(redis.call('HGET', key, bucket % BUCKETS)) or 0
    local returned = math.min(cost, held)
    if returned > 0 then
      redis.call('HSET', key, 'l', w[2], 's', w[3] - returned, 'o', w[4], bucket % BUCKETS, held - returned)
      if bucket == w[4] and returned == held then redis.call('HSET', key, 'o', counted(w, bucket + 1)) end
    end
  end
  if w[5] < period or w[5] >= following then return 0, w[6], w[6] - w[13] end
  -- Of another month, where it has just come from there.
  local setAt = not w[9] and tonumber(redis.call('HGET', key, 't')) or -1
  local month = (atMs or bucket * 1000) <= setAt and 0 or math.min(cost, w[6])
  local today_ = w[6] - w[13]
  if day == w[12] then today_ = math.max(0, today_ - cost) end
  if w[9] or w[14] then
    redis.call('HSET', key, 'p', monthText(w))
    turned(w, today[4])
  end
  local used, before = w[6] - month, w[6] - month - today_
  redis.call('HSET', key, 'u', used)
  if before ~= w[13] then redis.call('HSET', key, 'e', before) end
  return month, used, today_
end
`;

/**
 * Refunds a cost. KEYS: counters. ARGV: cost, bucket that it was counted in, ms in which it was counted, month label,
 * label of the month after it, day label, the same three of what it is now, time to live (ms, absolute), the node (empty:
 * as if it had handed in). Response: time in µs, then for each counter how much its month refunded and what month and
 * day have used since; in their place -1 when a counter is missing, or -2 when the node has to hand in first: then nothing was
 * refunded.
 */
export const REFUND_LUA = `${REFUND_FUNCTIONS_LUA}
local time = redis.call('TIME')
local now = tonumber(time[1])
local out = {now * 1000000 + tonumber(time[2])}
local cost, bucket, atMs = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local period, following, day = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local today = {tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10]}
local node, counters = ARGV[11] ~= '' and ARGV[11], {}
for i = 1, #KEYS do
  counters[i] = young(load(KEYS[i], now), now, node)
  if node and not counters[i] then return {out[1], -1} end
  if node and counters[i][11] then return {out[1], -2} end
end
for i = 1, #KEYS do
  local n = #out
  out[n + 1], out[n + 2], out[n + 3] = back(counters[i], cost, bucket, period, following, day, atMs, today)
end
return out
`;
