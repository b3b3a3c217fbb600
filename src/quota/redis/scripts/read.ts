/** The counts as they stand, as Redis reads them. */
import { WINDOW_LUA } from './window.js';

/** Numbers per counter in the response of `READ_LUA`. */
export const READ_NUMBERS = 6;

/**
 * Reads counters without counting. KEYS: counters. ARGV: month label, label of the month after it, day label, then for
 * each counter the most that its minute may hold for a request to fit. Response: time in µs, then for each month label
 * (-1: there is none, or it does not know the month), used of the month and of the day, sum, oldest, second from which
 * the minute holds no more than that (0: it does).
 */
export const READ_LUA = `${WINDOW_LUA}
local time = redis.call('TIME')
local now = tonumber(time[1])
local out = {now * 1000000 + tonumber(time[2])}
for i = 1, #KEYS do
  local w = young(load(KEYS[i], now), now)
  local n = #out
  if w and turn(w, tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])) then
    local over = w[3] - tonumber(ARGV[i + 3])
    out[n + 1], out[n + 2], out[n + 3], out[n + 4], out[n + 5] = w[5], w[6], w[6] - w[13], w[3], w[4]
    out[n + 6] = over > 0 and freed(w, over) or 0
  else
    out[n + 1], out[n + 2], out[n + 3], out[n + 4], out[n + 5], out[n + 6] = -1, 0, 0, 0, 0, 0
  end
end
return out
`;
