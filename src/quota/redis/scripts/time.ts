/**
 * Lua script that reads Redis's clock, by which all counters in Redis count. Response: seconds and microseconds, as
 * texts.
 */
export const TIME_LUA = "return redis.call('TIME')";
