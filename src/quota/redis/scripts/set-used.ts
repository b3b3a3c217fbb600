/** A month's count as somebody has set it, as Redis takes it. */
import { WINDOW_LUA } from './window.js';

/**
 * Sets the month's count; the minute stays. KEYS: counter, its shadow, which is set only where it exists. ARGV: month
 * label, label of the month after it, time to live (ms, absolute), count, last ms of Redis's time at which this may
 * still be done: a call that its caller has given up must not come true later. Response: 1, or 0 when it is too late;
 * time in ms; used before. `t` keeps when it was done (ms, with a fraction), so that what was counted before is not
 * taken from it.
 */
export const SET_USED_LUA = `${WINDOW_LUA}
local time = redis.call('TIME')
local now = tonumber(time[1])
local ms = now * 1000 + math.floor(tonumber(time[2]) / 1000)
if ms > tonumber(ARGV[5]) then return {0, ms, 0} end
local w = young(load(KEYS[1], now), now)
if w and w[10] then grown(w) end
local label, before = tonumber(ARGV[1]), 0
if not w then
  redis.call('HSET', KEYS[1], 'l', now, 's', 0, 'o', now)
  redis.call('PEXPIREAT', KEYS[1], ARGV[3])
elseif turn(w, label, tonumber(ARGV[2])) then
  label, before = w[5], w[6]
else
  turn(w, label, tonumber(ARGV[2]), 0)
end
if w then turned(w, ARGV[3]) end
local at = format('%d.%03d', ms, tonumber(time[2]) % 1000)
redis.call('HSET', KEYS[1], 'p', label, 'u', ARGV[4], 't', at)
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('HSET', KEYS[2], 'p', label, 'u', ARGV[4], 't', at) end
return {1, ms, before}
`;
