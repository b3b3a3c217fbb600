/** Contains the script that reads counters, for usage reports and previews. It changes no counts. */
import { WINDOW_LUA } from './window.js';

/** Number of values per counter in the response of `READ_LUA`. */
export const READ_NUMBERS = 6;

/**
 * Reads counters without counting a request.
 *
 * KEYS: counters.
 *
 * ARGV: month label, next month's label, day label. Then for each counter the highest sum of its minute window at which
 * one more request fits.
 *
 * Response: the time in µs. Then for each counter:
 * - month label (-1: the counter is missing, or does not know the month)
 * - usage of the month and of the day
 * - sum of the minute, and its oldest bucket
 * - second from which the minute's sum is low enough (0: the sum is low enough now)
 */
export const READ_LUA = `${WINDOW_LUA}
local time = redis.call('TIME')
local now = tonumber(time[1])
local out = {now * 1000000 + tonumber(time[2])}
for i = 1, #KEYS do
  local w = checkYouth(load(KEYS[i], now), now)
  local n = #out
  if w and moveTo(w, tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])) then
    local over = w[3] - tonumber(ARGV[i + 3])
    out[n + 1], out[n + 2], out[n + 3], out[n + 4], out[n + 5] = w[5], w[6], w[6] - w[13], w[3], w[4]
    out[n + 6] = over > 0 and freedAt(w, over) or 0
  else
    out[n + 1], out[n + 2], out[n + 3], out[n + 4], out[n + 5], out[n + 6] = -1, 0, 0, 0, 0, 0
  end
end
return out
`;
