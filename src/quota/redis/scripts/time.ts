/** Reads Redis's clock, which all counters use. Response: seconds and microseconds, as texts. */
export const TIME_LUA = "return redis.call('TIME')";
