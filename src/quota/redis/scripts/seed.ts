/** Contains the script that creates counters, and adds nodes' reports to young counters. */
import { WINDOW_LUA } from './window.js';

/**
 * Creates missing counters from the counts that the database and the node know. Adds the node's report to young
 * counters, once per node. Moves counters that are in a future month and do not know this month.
 *
 * KEYS: counters.
 *
 * ARGV:
 * - month label, next month's label, day label
 * - the counters' expiry (ms, absolute)
 * - last instant (ms, Redis's time) at which the script may still run
 * - the node (empty: the counters are never young)
 * - 1 if counters may be created
 *
 * Then for each counter:
 * - from the database: usage, when it was observed (µs), and the usage before the current day
 * - from the database: labels and counts of future months, and when the month was set (empty: never)
 * - from the node: usage, when it was observed (µs), and the usage before the current day
 * - from the node: costs that it has counted since the loss, as pairs of time (µs) and cost
 *
 * Response:
 * - 1, or one of these:
 *   - 0: a counter is missing or does not know the month, and may not be created
 *   - -1: the call was too late, so the database's counts may be outdated
 * - the time in µs
 * - usage of each counter in its month and its day
 */
export const SEED_LUA = `${WINDOW_LUA}
local time = redis.call('TIME')
local now = tonumber(time[1])
if now * 1000 + math.floor(tonumber(time[2]) / 1000) > tonumber(ARGV[5]) then
  return {-1, now * 1000000 + tonumber(time[2])}
end
local period, following, day, expireAt, node = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[6]
local mayCreate = ARGV[7] == '1'
local out = {1, now * 1000000 + tonumber(time[2])}

-- Sums the costs of a log after one instant, up to and including another.
local function costsBetween(log, after, until_)
  local sum = 0
  for at, cost in string.gmatch(log, '(%d+) (-?%d+)') do
    at = tonumber(at)
    if at > after and (not until_ or at <= until_) then sum = sum + tonumber(cost) end
  end
  return sum
end

local function addReport(w, used, seen, before, log)
  if call('HSETNX', w[1], 'n' .. node, log) == 0 then return end
  local birth, baseSeen, base = string.match(call('HGET', w[1], 'b'), '(%d+) (%d+) (-?%d+)')
  baseSeen, base = tonumber(baseSeen), tonumber(base)
  if seen > baseSeen or (seen == baseSeen and used > base) then
    w[6] = w[6] + used - base
    -- The new base is later: it contains what other nodes reported up to then.
    local fields = call('HGETALL', w[1])
    for i = 1, #fields, 2 do
      if string.sub(fields[i], 1, 1) == 'n' and fields[i] ~= 'n' .. node then
        w[6] = w[6] - costsBetween(fields[i + 1], baseSeen, seen)
      end
    end
    baseSeen, base, w[13] = seen, used, before
    call('HSET', w[1], 'b', birth .. ' ' .. text(baseSeen) .. ' ' .. text(base))
  end
  w[6] = w[6] + costsBetween(log, baseSeen)
  call('HSET', w[1], 'u', text(w[6]), 'e', text(w[13]))
end

for i = 1, #KEYS do
  local key, at, n = KEYS[i], i * 9 - 1, #out
  local used, seen, before = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local later, setAt = ARGV[at + 3], ARGV[at + 4]
  local known, knownSeen, knownBefore, log =
    tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7]), ARGV[at + 8]
  local w = checkYouth(load(key, now), now)
  if w then
    -- Ignore the database's counts: they may have been observed in this counter. A later label before 'following' is
    -- the same month under a moved billing day.
    if w[10] and node ~= '' and w[5] >= period and w[5] < following then
      moveTo(w, period, following, day)
      writePeriod(w, expireAt)
      w[14] = nil
      addReport(w, known, knownSeen, knownBefore, log)
    end
    if not moveTo(w, period, following, day) then
      if mayCreate then moveTo(w, period, following, day, used) else out[1] = 0 end
    end
    if w[9] or w[14] then
      call('HSET', key, 'p', monthText(w), 'u', text(w[6]))
      writePeriod(w, expireAt)
    end
    out[n + 1], out[n + 2] = w[6], w[6] - w[13]
  elseif mayCreate then
    if knownSeen > seen or (knownSeen == seen and known > used) then used, seen, before = known, knownSeen, knownBefore end
    local total = used + costsBetween(log, seen)
    out[n + 1], out[n + 2] = total, total - before
    call(
      'HSET', key, 'l', now, 's', 0, 'o', now, 'p', node == '' and ARGV[1] or '-' .. ARGV[1], 'u', text(total),
      'd', ARGV[3], 'e', text(before)
    )
    if later ~= '' then call('HSET', key, 'm', later) end
    if setAt ~= '' then call('HSET', key, 't', setAt) end
    if node ~= '' then call('HSET', key, 'b', text(now) .. ' ' .. text(seen) .. ' ' .. text(used), 'n' .. node, log) end
    call('PEXPIREAT', key, expireAt)
  else
    out[1], out[n + 1], out[n + 2] = 0, 0, 0
  end
end
return out
`;
