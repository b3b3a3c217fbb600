/** The decision, as Redis runs it: every window of a key and its account in one atomic step, by Redis's own clock. */
import { WINDOW_LUA } from './window.js';

/** Numbers per group in the response of `DECIDE_LUA`. */
export const DECIDE_NUMBERS = 9;

/**
 * Decides groups of equal requests. KEYS: account counter, key counter, for each group; the node's batch marker. ARGV:
 * the last instant (ms) at which this may still run; the batch's number; how long the marker lives (ms; below zero:
 * only where it is new); then one text with a line for each group, numbers with spaces between them: cost, how many
 * requests, limits (account minute, key minute, account month, key month; -1 is none), month label, label of the month
 * after it, time to live (ms, absolute). Response: one text, numbers with spaces between them: time in µs, then for
 * each group admitted (-1: a counter is missing, or does not know the month, and must be seeded first; -2: one is
 * young, and this node has to hand in first), used before in the same order as the limits, oldest bucket of account and
 * key, second from which one more fits for account and key (0: it fits). Only the time where it came too late: then
 * nothing was counted. One text each way, because a client spends more on a hundred small values than Redis does on
 * taking one text apart.
 *
 * What was counted stands in the marker (number, second, admitted of each group) by the same step: a node that got no
 * response asks with `UNDO_LUA`.
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
    if isOther and not (turn(a, period, following) and turn(k, period, following)) then
      return '-1 0 0 0 0 0 0 0 0', 0
    end
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
