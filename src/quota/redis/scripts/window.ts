/**
 * Contains the Lua functions with which the scripts read and write counters.
 *
 * A counter is a hash with these fields:
 * - `l`: last bucket written (whole seconds)
 * - `s`: sum of the ring
 * - `o`: oldest bucket with a count
 * - `p`, `u`: month label, usage of that month
 * - `d`, `e`: day label, usage of the month before that day
 * - `0`…`60`: the ring of one-second buckets. Each field has the count of the bucket with that number modulo 61.
 * - `m`: labels and counts of other months; `D`: labels and counts of other days
 * - `t`: when an operator last set `u` (ms)
 * - `b` and `n…`: only while the counter is young (`young-counters.ts`)
 *
 * The usage of the day is `u - e`, so a request writes nothing for the day. The first seven fields are written first,
 * because Redis searches compact hashes linearly. An admitted request writes the current bucket only. Buckets
 * that left the window are deleted. So the cost of a decision does not depend on the limit.
 */

import { OTHER_DAYS, OTHER_MONTHS } from '../../model/month-period.js';
import { YOUNG_LUA } from './young-counters.js';

/** Lua functions that the scripts in this folder include at their start. */
export const WINDOW_LUA = `
local BUCKETS = 61
local call, format, tonumber = redis.call, string.format, tonumber

-- Formats a whole number. Redis formats numbers with '%.17g', which takes several times as long.
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

-- Reads a counter and slides its ring to bucket 'now'. Returns nil if there is no counter. The result w is {key, last,
-- sum, oldest, period, used, count of the current bucket, texts as read (last, sum, oldest, period, used, day, used
-- before the day; false unless nothing had to slide), other months to write (false unless it has changed months), is
-- young, node must report first, day, used before the day, other days to write (false unless it has changed days)}.
local function load(key, now)
  local f = call('HMGET', key, 'l', 's', 'o', 'p', 'u', 'd', 'e', slot(now))
  if not f[1] then return nil end
  local last, sum, oldest = tonumber(f[1]), tonumber(f[2]), tonumber(f[3])
  local w = {
    key, now, sum, oldest, tonumber(f[4]), tonumber(f[5]), 0, false,
    false, false, false, tonumber(f[6]) or 0, tonumber(f[7]) or 0
  }
  if last == now then
    w[7] = tonumber(f[8]) or 0
    if sum > 0 then w[8] = f end
    return w
  end
  if now < last and last - now < BUCKETS then
    -- The clock went back a little: continue in the latest bucket.
    w[2] = last
    w[7] = tonumber(redis.call('HGET', key, last % BUCKETS)) or 0
    return w
  end
  if sum == 0 then
    w[4] = now
    return w
  end
  if now < last or now - last >= BUCKETS then
    -- Either everything has left the ring, or the clock went back by more than a window. In the second case everything
    -- counts from now on.
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
      -- Reads the buckets that leave and a few after them. In a busy counter the next bucket is the new oldest one, and
      -- Redis finds each field by a linear search.
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
-- Adds to the current bucket of a counter and writes the changed fields.
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

local function moveToMonth(w, period, following, known)
  if w[5] == period or (w[5] > period and w[5] < following) then return true end
  local months, used = {{w[5], text(w[6])}}, known
  for label, count in string.gmatch(call('HGET', w[1], 'm') or '', '(%d+) (-?%d+)') do
    label = tonumber(label)
    -- 'm' can contain the counter's own month if a set has moved it here.
    if label == period then used = tonumber(count) elseif label ~= w[5] then months[#months + 1] = {label, count} end
  end
  if not used and w[5] > period then return false end
  if w[10] then endYouth(w) end
  -- Keep the latest months. The database has the past ones, and future ones exist only because a clock ran ahead.
  table.sort(months, function(one, other) return one[1] > other[1] end)
  local texts = {}
  for i = 1, math.min(#months, ${OTHER_MONTHS}) do texts[i] = text(months[i][1]) .. ' ' .. months[i][2] end
  w[5], w[6], w[8], w[9] = period, used or 0, false, table.concat(texts, ' ')
  return true
end

-- Moves a counter to a month and a day, in 'w' only. Restores the counts if the counter was there before; otherwise
-- they start at 0. A later month before 'following' continues, because the account's billing day was moved. Returns
-- false if the counter is in a future month and does not know this one. If 'known' is given, it is the usage of that
-- month and the counter moves anyway.
local function moveTo(w, period, following, day, known)
  local today = w[6] - w[13]
  if not moveToMonth(w, period, following, known) then return false end
  if w[12] ~= day then
    local others, known = {text(w[12]) .. ' ' .. text(today)}, 0
    for label, count in string.gmatch(call('HGET', w[1], 'D') or '', '(%d+) (-?%d+)') do
      if tonumber(label) == day then
        known = tonumber(count)
      elseif tonumber(label) ~= w[12] and #others < ${OTHER_DAYS} then
        others[#others + 1] = label .. ' ' .. count
      end
    end
    w[12], w[8], w[14], today = day, false, table.concat(others, ' '), known
  end
  w[13] = w[6] - today
  return true
end

-- Writes the fields of a changed month or day, except 'p' and 'u'.
local function writePeriod(w, expireAt)
  if w[14] then
    call('HSET', w[1], 'd', text(w[12]), 'e', text(w[13]), 'D', w[14])
  elseif w[9] then
    call('HSET', w[1], 'e', text(w[13]))
  end
  if not w[9] then return end
  call('HSET', w[1], 'm', w[9])
  call('HDEL', w[1], 't')
  call('PEXPIREAT', w[1], expireAt)
end

-- Returns the second from which at least 'need' has left the ring; one window after the last bucket if that is never
-- enough.
local function freedAt(w, need)
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
