/**
 * The decision, as Redis runs it: every window of a key and its account in one atomic step, by Redis's own clock.
 *
 * A counter is a hash. `l` last bucket written (whole seconds), `s` sum of the ring, `o` oldest bucket with a count,
 * `p` month label, `u` used in that month, and the ring: field `0`…`60` holds the count of the bucket with that number
 * modulo 61. `m` label and count of other months that it was in, `t` when `u` was last set (ms), `b` and `n…` only while it is young (`young-scripts.ts`). The first five fields are written first, so that the linear look-up in Redis's compact hash finds them at
 * once. A bucket is touched when it fills and when it leaves: the cost of a decision does not depend on the limit.
 */

import { SEED_BODY_LUA, YOUNG_LUA } from './young-scripts.js';

/** Most months that a counter keeps beside the one that it is in. */
const OTHER_MONTHS = 2;

/** Functions that every script here begins with. */
export const WINDOW_LUA = `
local BUCKETS = 61
local call, format, tonumber = redis.call, string.format, tonumber

-- A whole number as text. Redis would write each number with '%.17g', which takes several times as long.
local function text(number) return format('%d', number) end

local slots = {}
local function slot(bucket)
  local name = slots[bucket]
  if not name then
    name = text(bucket % BUCKETS)
    slots[bucket] = name
  end
  return name
end

-- Reads a counter and slides its ring to bucket 'now'. Returns nil when there is no such counter.
-- w: {key, last, sum, oldest, period, used, count of the current bucket, what was read as it stands, where nothing had to slide: texts of
-- last, sum, oldest, period, used, once it has gone on in another month what is to be written of others}
local function load(key, now)
  local f = call('HMGET', key, 'l', 's', 'o', 'p', 'u', slot(now))
  if not f[1] then return nil end
  local last, sum, oldest = tonumber(f[1]), tonumber(f[2]), tonumber(f[3])
  local w = {key, now, sum, oldest, tonumber(f[4]), tonumber(f[5]), 0, false}
  if last == now then
    w[7] = tonumber(f[6]) or 0
    if sum > 0 then w[8] = f end
    return w
  end
  if now < last and last - now < BUCKETS then
    -- The clock went back a little: go on in the bucket that is already open.
    w[2] = last
    w[7] = tonumber(redis.call('HGET', key, last % BUCKETS)) or 0
    return w
  end
  if sum == 0 then
    w[4] = now
    return w
  end
  if now < last or now - last >= BUCKETS then
    -- Either all of it has left, or the clock went back by more than a window: then all of it counts from now on.
    local fields = {}
    for slot = 0, BUCKETS - 1 do fields[#fields + 1] = slot end
    redis.call('HDEL', key, unpack(fields))
    if now < last then w[7] = sum else w[3] = 0 end
    w[4] = now
    redis.call('HSET', key, 'l', now, 's', w[3], 'o', now)
    if w[7] > 0 then redis.call('HSET', key, now % BUCKETS, w[7]) end
    return w
  end
  local keep = now - BUCKETS + 1
  if oldest < keep then
    local bucket, ahead, gone = oldest, 1, {}
    oldest = nil
    while not oldest and bucket <= last do
      -- What leaves, and a few behind it: of a busy counter the next one is the oldest that stays, and each is looked for from the front.
      local fields = {}
      for at = bucket, math.min(last, math.max(bucket, keep) + ahead) do fields[#fields + 1] = slot(at) end
      local counts = call('HMGET', key, unpack(fields))
      for i = 1, #fields do
        local count = tonumber(counts[i]) or 0
        if count > 0 and bucket >= keep then
          oldest = bucket
          break
        end
        if count > 0 then
          sum = sum - count
          gone[#gone + 1] = fields[i]
        end
        bucket = bucket + 1
      end
      ahead = ahead * 4
    end
    if #gone > 0 then call('HDEL', key, unpack(gone)) end
    w[3], w[4] = sum, oldest or now
    call('HSET', key, 'l', text(now), 's', text(sum), 'o', text(w[4]))
  end
  return w
end

${YOUNG_LUA}
-- Adds to a counter in its current bucket and writes back what has changed.
local function add(w, amount)
  if w[3] == 0 then w[4] = w[2] end
  w[3], w[6], w[7] = w[3] + amount, w[6] + amount, w[7] + amount
  if w[8] then
    call('HSET', w[1], 's', text(w[3]), 'u', text(w[6]), slot(w[2]), text(w[7]))
  else
    call(
      'HSET', w[1], 'l', text(w[2]), 's', text(w[3]), 'o', text(w[4]), 'p', monthText(w), 'u', text(w[6]),
      slot(w[2]), text(w[7])
    )
  end
end

-- Brings a counter to a month, 'w' alone: to where it stood there, if it was in it before, else to nothing. A later label that is not yet
-- 'following' goes on: the account's billing day was moved. False where it is in a month to come, and does not know this one; then, too,
-- it is brought to it where it is said what was used ('known').
local function turn(w, period, following, known)
  if w[5] == period or (w[5] > period and w[5] < following) then return true end
  local months, used = {{w[5], text(w[6])}}, known
  for label, count in string.gmatch(call('HGET', w[1], 'm') or '', '(%d+) (%d+)') do
    label = tonumber(label)
    if label == period then used = tonumber(count) else months[#months + 1] = {label, count} end
  end
  if not used and w[5] > period then return false end
  if w[10] then grown(w) end
  -- The latest are kept: those to come are there because a clock ran ahead, and the database has those that are over.
  table.sort(months, function(one, other) return one[1] > other[1] end)
  local texts = {}
  for i = 1, math.min(#months, ${OTHER_MONTHS}) do texts[i] = text(months[i][1]) .. ' ' .. months[i][2] end
  w[5], w[6], w[8], w[9] = period, used or 0, false, table.concat(texts, ' ')
  return true
end

-- Writes what belongs to another month, beside 'p' and 'u'.
local function turned(w, expireAt)
  if not w[9] then return end
  call('HSET', w[1], 'm', w[9])
  call('HDEL', w[1], 't')
  call('PEXPIREAT', w[1], expireAt)
end

-- The bucket second from which 'need' more has left the ring; the window's length from now when that never is enough.
local function freed(w, need)
  local fields = {}
  for bucket = w[4], w[2] do fields[#fields + 1] = bucket % BUCKETS end
  local counts = redis.call('HMGET', w[1], unpack(fields))
  local sum = 0
  for i = 1, #fields do
    sum = sum + (tonumber(counts[i]) or 0)
    if sum >= need then return w[4] + i - 1 + BUCKETS end
  end
  return w[2] + BUCKETS
end
`;

/** Numbers per group in the response of `DECIDE_LUA`. */
export const DECIDE_NUMBERS = 9;

/**
 * Decides groups of equal requests. KEYS: account counter, key counter, for each group; the node's batch marker. ARGV: the last
 * instant (ms) at which this may still run; the batch's number; how long the marker lives (ms; below zero: only where it is new); then
 * one text with a line for each group, numbers with spaces between them: cost, how many requests, limits (account minute, key minute,
 * account month, key month; -1 is none), month label, label of the month after it, time to live (ms, absolute). Response: one text, numbers with spaces between them:
 * time in µs, then for each group admitted (-1: a counter is missing, or does not know the month, and must be seeded first; -2: one is young, and this node has to hand in first), used before in the same order as the
 * limits, oldest bucket of account and key, second from which one more fits for account and key (0: it fits). Only the time where it
 * came too late: then nothing was counted. One text each way, because a client spends more on a hundred small values than Redis does
 * on taking one text apart.
 *
 * What was counted stands in the marker (number, second, admitted of each group) by the same step: a node that got no response asks
 * with `UNDO_LUA`.
 */
export const DECIDE_LUA = `${WINDOW_LUA}
local GROUPS, LIMITS = '(%S+) (%S+) ([^\\n]+)\\n', '(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)'
local time = redis.call('TIME')
local now = tonumber(time[1])
local nowUs = now * 1000000 + tonumber(time[2])
local out = {text(nowUs)}
if nowUs >= (tonumber(ARGV[1]) + 1) * 1000 then return out[1] end
local marker, counted = {ARGV[2], now}, false

local function decide(a, k, cost, wanted, amin, kmin, amon, kmon, period, following, expireAt)
  if not a or not k then return '-1 0 0 0 0 0 0 0 0', 0 end
  local isOther = a[5] ~= period or k[5] ~= period
  if isOther then
    young(a, now, KEYS[#KEYS])
    young(k, now, KEYS[#KEYS])
    if a[11] or k[11] then return '-2 0 0 0 0 0 0 0 0', 0 end
    isOther = a[5] ~= period or k[5] ~= period
    if isOther and not (turn(a, period, following) and turn(k, period, following)) then return '-1 0 0 0 0 0 0 0 0', 0 end
  end
  local admitted = wanted
  if cost > 0 then
    if amin >= 0 then admitted = math.min(admitted, math.floor((amin - a[3]) / cost)) end
    if kmin >= 0 then admitted = math.min(admitted, math.floor((kmin - k[3]) / cost)) end
    if amon >= 0 then admitted = math.min(admitted, math.floor((amon - a[6]) / cost)) end
    if kmon >= 0 then admitted = math.min(admitted, math.floor((kmon - k[6]) / cost)) end
    if admitted < 0 then admitted = 0 end
  end
  local asum, ksum, aused, kused = a[3], k[3], a[6], k[6]
  if admitted > 0 and cost > 0 then
    add(a, admitted * cost)
    add(k, admitted * cost)
    counted = true
    if isOther then
      turned(a, expireAt)
      turned(k, expireAt)
    end
  end
  local af, kf = a[8], k[8]
  if admitted == wanted and af and kf then
    -- Nearly always: what was read is what is told.
    local sums, used = af[2] .. ' ' .. kf[2], af[5] .. ' ' .. kf[5]
    return text(admitted) .. ' ' .. sums .. ' ' .. used .. ' ' .. af[3] .. ' ' .. kf[3] .. ' 0 0', admitted
  end
  local afreed, kfreed = 0, 0
  if admitted < wanted then
    if amin >= 0 and a[3] + cost > amin then afreed = freed(a, a[3] + cost - amin) end
    if kmin >= 0 and k[3] + cost > kmin then kfreed = freed(k, k[3] + cost - kmin) end
  end
  return format('%d %d %d %d %d %d %d %d %d', admitted, asum, ksum, aused, kused, a[4], k[4], afreed, kfreed), admitted
end

local g, limits, amin, kmin, amon, kmon, period, following, expireAt = 1, nil, nil, nil, nil, nil, nil, nil, nil
for cost, wanted, line in string.gmatch(ARGV[4], GROUPS) do
  -- Most groups have the limits of one plan.
  if line ~= limits then
    limits = line
    amin, kmin, amon, kmon, period, following, expireAt = string.match(line, LIMITS)
    amin, kmin, amon, kmon, period = tonumber(amin), tonumber(kmin), tonumber(amon), tonumber(kmon), tonumber(period)
    following = tonumber(following)
  end
  local a, k = load(KEYS[g * 2 - 1], now), load(KEYS[g * 2], now)
  out[g + 1], marker[g + 2] =
    decide(a, k, tonumber(cost), tonumber(wanted), amin, kmin, amon, kmon, period, following, expireAt)
  g = g + 1
end
if counted then
  local ttl = tonumber(ARGV[3])
  local isNew = redis.call('HSET', KEYS[#KEYS], 'b', table.concat(marker, ' ')) == 1
  if ttl > 0 or isNew then redis.call('PEXPIRE', KEYS[#KEYS], math.abs(ttl)) end
end
return table.concat(out, ' ')
`;

/** Creates counters, and hands in at young ones: `SEED_BODY_LUA` says what it takes and answers. */
export const SEED_LUA = `${WINDOW_LUA}${SEED_BODY_LUA}`;

/** Functions that refund a cost. */
export const REFUND_FUNCTIONS_LUA = `${WINDOW_LUA}
-- The first bucket from 'bucket' on that holds a count; the last one when none does.
local function counted(w, bucket)
  while bucket < w[2] and (tonumber(redis.call('HGET', w[1], bucket % BUCKETS)) or 0) == 0 do bucket = bucket + 1 end
  return math.min(bucket, w[2])
end

-- Takes a cost that was counted in 'bucket' out of every window that still holds it; never goes below zero. What has left the ring,
-- or belongs to another month, or was counted (in ms 'atMs', where that is known) before the month was set, stays as it is. 'today': the month that it is now with
-- the one after it and the time to live, where the counter is to be brought to that first. Returns how much the month refunded and what it has used since.
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
 * Refunds a cost. KEYS: counters. ARGV: cost, bucket that it was counted in, ms in which it was counted, month label, label of the month after
 * it, the same two of the month that it is now, time to live (ms, absolute), the node (empty: as if it had handed in). Response: time in µs, then for each counter how much its month refunded and what it has used since;
 * in their place -1 when a counter is missing, or -2 when the node has to hand in first: then nothing was refunded.
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

/** Numbers per counter in the response of `READ_LUA`. */
export const READ_NUMBERS = 5;

/**
 * Reads counters without counting. KEYS: counters. ARGV: month label, label of the month after it, then for each counter the most that its
 * minute may hold for a request to fit. Response: time in µs, then for each month label (-1: there is none, or it does not know the month),
 * used, sum, oldest, second from which the minute holds no more than that (0: it does).
 */
export const READ_LUA = `${WINDOW_LUA}
local time = redis.call('TIME')
local now = tonumber(time[1])
local out = {now * 1000000 + tonumber(time[2])}
for i = 1, #KEYS do
  local w = young(load(KEYS[i], now), now)
  local n = #out
  if w and turn(w, tonumber(ARGV[1]), tonumber(ARGV[2])) then
    local over = w[3] - tonumber(ARGV[i + 2])
    out[n + 1], out[n + 2], out[n + 3], out[n + 4] = w[5], w[6], w[3], w[4]
    out[n + 5] = over > 0 and freed(w, over) or 0
  else
    out[n + 1], out[n + 2], out[n + 3], out[n + 4], out[n + 5] = -1, 0, 0, 0, 0
  end
end
return out
`;

/**
 * One throttle window of any length for `ThrottlerStorage.increment`. KEYS: counter. ARGV: bucket length (ms), limit, time to
 * live (ms, relative). Response: 1 when admitted, sum after, ms until the next bucket leaves or until one more fits.
 */
export const THROTTLE_LUA = `${WINDOW_LUA}
local time = redis.call('TIME')
local ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local length, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = math.floor(ms / length)
local w = load(KEYS[1], now) or {KEYS[1], now, 0, now, 0, 0, 0}
if w[3] >= limit then return {0, w[3], freed(w, w[3] + 1 - limit) * length - ms} end
add(w, 1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {1, w[3], (w[4] + BUCKETS) * length - ms}
`;
