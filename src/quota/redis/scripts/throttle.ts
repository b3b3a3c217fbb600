/** A throttle of our own endpoints, as Redis runs it. */
import { REFUND_FUNCTIONS_LUA } from './refund.js';
import { WINDOW_LUA } from './window.js';

/**
 * One throttle window of any length for `ThrottlerStorage.increment`. KEYS: counter. ARGV: bucket length (ms), limit,
 * time to live (ms, relative). Response: 1 when admitted, sum after, ms until the next bucket leaves or until one more
 * fits, the bucket that it was counted in.
 */
export const THROTTLE_LUA = `${WINDOW_LUA}
local time = redis.call('TIME')
local ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local length, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = math.floor(ms / length)
local w = load(KEYS[1], now) or {KEYS[1], now, 0, now, 0, 0, 0}
if w[3] >= limit then return {0, w[3], freed(w, w[3] + 1 - limit) * length - ms, w[2]} end
add(w, 1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {1, w[3], (w[4] + BUCKETS) * length - ms, w[2]}
`;

/**
 * Refunds one hit. KEYS: counter. ARGV: bucket length (ms), the bucket that it was counted in. What has left the window
 * meanwhile stays gone. Response: nothing.
 */
export const THROTTLE_REFUND_LUA = `${REFUND_FUNCTIONS_LUA}
local time = redis.call('TIME')
local ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
back(load(KEYS[1], math.floor(ms / tonumber(ARGV[1]))), 1, tonumber(ARGV[2]), 0, 1, 0)
`;
