/** Contains the scripts that count and refund the hits of throttles. */
import { REFUND_FUNCTIONS_LUA } from './refund.js';
import { WINDOW_LUA } from './window.js';

/**
 * Counts one hit in a throttle window of any length.
 *
 * KEYS: counter.
 *
 * ARGV: bucket length (ms), limit, time to live (ms, relative).
 *
 * Response:
 * - 1 if admitted, otherwise 0
 * - the number of hits in the window afterwards
 * - if admitted, ms until the oldest bucket leaves the window; otherwise, ms until one more hit fits
 * - the bucket of the hit
 */
export const THROTTLE_LUA = `${WINDOW_LUA}
local time = redis.call('TIME')
local ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local length, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = math.floor(ms / length)
local w = load(KEYS[1], now) or {KEYS[1], now, 0, now, 0, 0, 0}
if w[3] >= limit then return {0, w[3], freedAt(w, w[3] + 1 - limit) * length - ms, w[2]} end
add(w, 1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {1, w[3], (w[4] + BUCKETS) * length - ms, w[2]}
`;

/**
 * Refunds one hit, unless it has left the window.
 *
 * KEYS: counter.
 *
 * ARGV: bucket length (ms), the hit's bucket.
 *
 * Response: nothing.
 */
export const THROTTLE_REFUND_LUA = `${REFUND_FUNCTIONS_LUA}
local time = redis.call('TIME')
local ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
refund(load(KEYS[1], math.floor(ms / tonumber(ARGV[1]))), 1, tonumber(ARGV[2]), 0, 1, 0)
`;
