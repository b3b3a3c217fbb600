/** Contains the script that sets a month's count, for adjustments by an operator. */
import { WINDOW_LUA } from './window.js';

/**
 * Sets the month's count. The minute and the day keep their counts.
 *
 * KEYS: the counter, and its shadow counter, which is set only if it exists.
 *
 * ARGV:
 * - month label, next month's label, day label
 * - the counters' expiry (ms, absolute)
 * - the count
 * - last instant (ms, Redis's time) at which the script may still run
 *
 * Response: 1 (or 0 if the call was too late), the time in ms, and the month's count before the change. A late call
 * changes nothing, because its caller no longer waits.
 *
 * The counter's field `t` records the time of the change (ms, with a fraction). Refunds of earlier requests therefore
 * do not reduce the new count.
 */
export const SET_USED_LUA = `${WINDOW_LUA}
local time = redis.call('TIME')
local now = tonumber(time[1])
local ms = now * 1000 + math.floor(tonumber(time[2]) / 1000)
if ms > tonumber(ARGV[6]) then return {0, ms, 0} end
local w = checkYouth(load(KEYS[1], now), now)
if w and w[10] then endYouth(w) end
local label, following, day, used, before = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[5]), 0
local at = format('%d.%03d', ms, tonumber(time[2]) % 1000)

local function set(w)
  local today = w[6] - w[13]
  writePeriod(w, ARGV[4])
  call('HSET', w[1], 'p', text(w[5]), 'u', text(used), 'e', text(used - today), 't', at)
end

if not w then
  call('HSET', KEYS[1], 'l', now, 's', 0, 'o', now, 'p', label, 'u', 0, 'd', day, 'e', 0)
  call('PEXPIREAT', KEYS[1], ARGV[4])
  w = load(KEYS[1], now)
elseif moveTo(w, label, following, day) then
  before = w[6]
else
  moveTo(w, label, following, day, 0)
end
set(w)
local shadow = checkYouth(load(KEYS[2], now), now)
if shadow then
  if shadow[10] then endYouth(shadow) end
  moveTo(shadow, label, following, day, 0)
  set(shadow)
end
return {1, ms, before}
`;
