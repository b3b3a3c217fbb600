/** Contains the script that reads the month counts of an account's counters, for the sweep of dead processes. */
import { YOUTH_MS } from './young-counters.js';

/**
 * Reads month counts.
 *
 * KEYS: counters of one account.
 *
 * Response: time in ms. Then for each counter its month label, the month's usage, the day label and the day's usage.
 * The month label is -1 if the counter is missing, or if it was lost and nodes may still have to report to it.
 */
export const MONTHS_LUA = `
local time = redis.call('TIME')
local out = {tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)}
for i = 1, #KEYS do
  local f = redis.call('HMGET', KEYS[i], 'p', 'u', 'd', 'e', 'b')
  local month, birth, seen = tonumber(f[1]) or -1, string.match(f[5] or '', '^(%d+) (%d+)')
  -- A young counter with an earlier observation was lost. Nodes may still have to report counts of it, so its count
  -- cannot be used.
  local isLost = month < -1 and seen ~= '0' and math.abs(time[1] - (birth or 0)) < ${YOUTH_MS / 1_000}
  local at, used = i * 4 - 2, tonumber(f[2]) or 0
  out[at], out[at + 1] = isLost and -1 or math.abs(month) * (month == -1 and -1 or 1), used
  out[at + 2], out[at + 3] = tonumber(f[3]) or 0, used - (tonumber(f[4]) or 0)
end
return out
`;
