/**
 * Contains the Lua scripts for idempotency records. A record is a hash with these fields:
 * - `h` fingerprint, `o` owner, `d` end of the lease (ms since the epoch, 0 after the request has ended).
 * - `s` status and `b` digest of the request body, if the request was carried out.
 * - `c` error code, `f` header lines and `r` body of the response, if the response is stored.
 */

/** Lua code that sets the local variable `now` to the time of Redis in ms since the epoch. */
const NOW = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
`;

/**
 * Claims a record, if no record exists.
 *
 * KEYS: record. ARGV: fingerprint, owner, lease (ms), retention (ms).
 *
 * Returns 0 for claimed, 1 for in progress, 2 for unknown and 3 for mismatch. Returns 4 for a completed request, with
 * its status, the digest of its body, and 1 if its response is stored.
 */
export const CLAIM_LUA = `${NOW}
local r = redis.call('HMGET', KEYS[1], 'h', 'd', 's', 'b')
if not r[1] then
  redis.call('HSET', KEYS[1], 'h', ARGV[1], 'o', ARGV[2], 'd', now + tonumber(ARGV[3]))
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  return {0}
end
if r[1] ~= ARGV[1] then return {3} end
if r[3] then return {4, r[3], r[4], redis.call('HEXISTS', KEYS[1], 'r')} end
if tonumber(r[2]) > now then return {1} end
return {2}
`;

/**
 * Extends the lease of an open claim, and keeps its record for at least two leases.
 *
 * KEYS: record. ARGV: owner, lease (ms). Returns nothing.
 */
export const EXTEND_LUA = `${NOW}
local r = redis.call('HMGET', KEYS[1], 'o', 's', 'd')
if r[1] ~= ARGV[1] or r[2] or r[3] == '0' then return end
local lease = tonumber(ARGV[2])
redis.call('HSET', KEYS[1], 'd', now + lease)
if redis.call('PTTL', KEYS[1]) < 2 * lease then redis.call('PEXPIRE', KEYS[1], 2 * lease) end
`;

/**
 * Writes the outcome of a claim. Creates the record if it has expired.
 *
 * KEYS: record.
 *
 * ARGV:
 * - owner, fingerprint, retention (ms)
 * - status and digest of the request body, if the request was carried out
 * - error code, header lines and body of the response, if the response is stored
 *
 * Returns 1 if the outcome was written. Returns 0 if another claim owns the record, or if the record has a status.
 */
export const END_LUA = `
local r = redis.call('HMGET', KEYS[1], 'o', 's')
if r[1] and (r[1] ~= ARGV[1] or r[2]) then return 0 end
redis.call('HSET', KEYS[1], 'o', ARGV[1], 'h', ARGV[2], 'd', 0)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
if ARGV[4] then redis.call('HSET', KEYS[1], 's', ARGV[4], 'b', ARGV[5]) end
if ARGV[6] then redis.call('HSET', KEYS[1], 'c', ARGV[6], 'f', ARGV[7], 'r', ARGV[8]) end
return 1
`;

/**
 * Deletes the record of a claim, unless the record has a status or another owner.
 *
 * KEYS: record. ARGV: owner. Returns nothing.
 */
export const RELEASE_LUA = `
local r = redis.call('HMGET', KEYS[1], 'o', 's')
if r[1] == ARGV[1] and not r[2] then redis.call('DEL', KEYS[1]) end
`;
