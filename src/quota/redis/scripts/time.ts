/** The clock that counters go by. Response: seconds and microseconds, as texts. */
export const TIME_LUA = "return redis.call('TIME')";
