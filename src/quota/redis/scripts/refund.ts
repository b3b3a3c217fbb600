/** Contains the refund script, which refunds a cost in every window that still contains the cost. */
import { WINDOW_LUA } from './window.js';

/** Lua functions that refund a cost, and the functions of `WINDOW_LUA`. */
export const REFUND_FUNCTIONS_LUA = `${WINDOW_LUA}
-- Returns the first bucket from 'bucket' on that has a count, or the last bucket if none has.
local function firstCounted(w, bucket)
  while bucket < w[2] and (tonumber(redis.call('HGET', w[1], bucket % BUCKETS)) or 0) == 0 do bucket = bucket + 1 end
  return math.min(bucket, w[2])
end

-- Refunds a cost that was counted in 'bucket', in every window that still holds it, never below zero. Nothing changes
-- for a bucket that has left the ring or for another month. The month also keeps a cost that was counted (at 'atMs', if
-- known) before its usage was set. If 'today' is given (current month, next month, day, expiry), the counter is moved
-- to that month and day first. Returns what the month refunded, and the usage of the month and the day afterwards.
local function refund(w, cost, bucket, period, following, day, atMs, today)
  if not w then return 0, 0, 0 end
  local key = w[1]
  if today then moveTo(w, today[1], today[2], today[3]) end
  if bucket > w[2] - BUCKETS and bucket <= w[2] then
    local held = tonumber(redis.call('HGET', key, bucket % BUCKETS)) or 0
    local returned = math.min(cost, held)
    if returned > 0 then
      redis.call('HSET', key, 'l', w[2], 's', w[3] - returned, 'o', w[4], bucket % BUCKETS, held - returned)
      if bucket == w[4] and returned == held then redis.call('HSET', key, 'o', firstCounted(w, bucket + 1)) end
    end
  end
  if w[5] < period or w[5] >= following then return 0, w[6], w[6] - w[13] end
  -- If the counter has just moved here from another month, 't' belongs to that one.
  local setAt = not w[9] and tonumber(redis.call('HGET', key, 't')) or -1
  local month = (atMs or bucket * 1000) <= setAt and 0 or math.min(cost, w[6])
  local today_ = w[6] - w[13]
  if day == w[12] then today_ = math.max(0, today_ - cost) end
  if w[9] or w[14] then
    redis.call('HSET', key, 'p', monthText(w))
    writePeriod(w, today[4])
  end
  local used, before = w[6] - month, w[6] - month - today_
  redis.call('HSET', key, 'u', used)
  if before ~= w[13] then redis.call('HSET', key, 'e', before) end
  return month, used, today_
end
`;

/**
 * Refunds a cost.
 *
 * KEYS: counters.
 *
 * ARGV:
 * - cost
 * - bucket and time (ms) in which the cost was counted
 * - month label, next month's label and day label of that time
 * - the same three labels of the current time
 * - the counters' expiry (ms, absolute)
 * - the node (empty: treat the node as if it had reported)
 *
 * Response: the time in µs. Then for each counter the amount that its month got back, and the usage of the month and
 * the day afterwards. If the node is given, and a counter is missing (-1) or the node must report first (-2), nothing
 * is refunded. The response then contains the time and that number.
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
  counters[i] = checkYouth(load(KEYS[i], now), now, node)
  if node and not counters[i] then return {out[1], -1} end
  if node and counters[i][11] then return {out[1], -2} end
end
for i = 1, #KEYS do
  local n = #out
  out[n + 1], out[n + 2], out[n + 3] = refund(counters[i], cost, bucket, period, following, day, atMs, today)
end
return out
`;
