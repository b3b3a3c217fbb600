/**
 * Contains the scripts for the recovery after an outage. Each refund or replay takes effect once, even if a node sends
 * it twice.
 */
import { SLOT_MARKER_MS } from '../../../stores/redis/keys.js';
import { REFUND_FUNCTIONS_LUA } from './refund.js';

/**
 * Refunds the cost of the requests that a batch admitted if the batch got no response. The refund happens only once.
 *
 * KEYS: the batch's keys.
 *
 * ARGV: the batch's number, the last instant (ms) at which the batch may still run. Then for each group its cost, month
 * label, next month's label and day label.
 *
 * Response:
 * - -1 if the batch may still run, and the caller must repeat the call
 * - 0 if the batch did not run, or was refunded before
 * - 1 if the batch was refunded now
 */
export const UNDO_LUA = `${REFUND_FUNCTIONS_LUA}
local time = redis.call('TIME')
local now = tonumber(time[1])
if now * 1000 + math.floor(tonumber(time[2]) / 1000) <= tonumber(ARGV[2]) then return -1 end
local marker = {}
for word in string.gmatch(redis.call('HGET', KEYS[#KEYS], 'b') or '', '%S+') do marker[#marker + 1] = word end
if marker[1] ~= ARGV[1] then
  -- The write says nothing about the batch. It shows that Redis accepts writes: a Redis without memory responds, but
  -- counts nothing.
  if redis.call('HSET', KEYS[#KEYS], 'b', '') == 1 then redis.call('PEXPIRE', KEYS[#KEYS], ${SLOT_MARKER_MS}) end
  return 0
end
for g = 1, (#KEYS - 1) / 2 do
  local at = g * 4 - 1
  local cost = tonumber(ARGV[at]) * tonumber(marker[g + 2])
  local period, following, day = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  if cost > 0 then
    refund(checkYouth(load(KEYS[g * 2 - 1], now), now), cost, tonumber(marker[2]), period, following, day)
    refund(checkYouth(load(KEYS[g * 2], now), now), cost, tonumber(marker[2]), period, following, day)
  end
end
redis.call('HSET', KEYS[#KEYS], 'b', '')
return 1
`;

/**
 * Counts the requests of one key that a node admitted while Redis was unavailable. They are counted only once.
 *
 * KEYS: account counter, key counter, marker.
 *
 * ARGV:
 * - the marker's time to live (ms)
 * - labels of the month and the day in which the requests were admitted
 * - cost on that day
 * - labels of the current month, the next month and the current day
 * - the counters' expiry (ms, absolute)
 * - the node
 * - pairs of second and cost; negative costs are refunds
 *
 * Response:
 * - 1, or -1 if a counter is missing, does not know the month, or is young and the node must report first
 * - usage of the account in the current month and day, then of the key
 * - the time in µs
 *
 * If the marker exists, the requests were counted before, and nothing changes. If the node's clock ran ahead, the
 * requests belong to a future month. The script counts them in that month, and the counter stays in its own month.
 */
export const REPLAY_LUA = `${REFUND_FUNCTIONS_LUA}
local time = redis.call('TIME')
local now = tonumber(time[1])
local a, k = checkYouth(load(KEYS[1], now), now, ARGV[9]), checkYouth(load(KEYS[2], now), now, ARGV[9])
if not a or not k or a[11] or k[11] then return {-1, 0, 0} end
local label, labelOfDay, used = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local period, following, day = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
if not moveTo(a, period, following, day) or not moveTo(k, period, following, day) then return {-1, 0, 0} end

local function addToMonth(w)
  if label == period or label == w[5] then
    w[6] = math.max(0, w[6] + used)
    return
  end
  local months, isKnown = {}, false
  for month, count in string.gmatch(call('HGET', w[1], 'm') or '', '(%d+) (-?%d+)') do
    if tonumber(month) == label then count, isKnown = text(math.max(0, count + used)), true end
    months[#months + 1] = month .. ' ' .. count
  end
  if label > w[5] and not isKnown then table.insert(months, 1, text(label) .. ' ' .. text(math.max(0, used))) end
  if #months > 0 then call('HSET', w[1], 'm', table.concat(months, ' ')) end
end

if redis.call('SET', KEYS[3], 1, 'NX', 'PX', ARGV[1]) then
  for _, w in ipairs({a, k}) do
    writePeriod(w, ARGV[8])
    local today = w[6] - w[13]
    addToMonth(w)
    if labelOfDay == w[12] then today = math.max(0, today + used) end
    w[13] = w[6] - today
    for i = 10, #ARGV - 1, 2 do
      local bucket, cost = math.min(tonumber(ARGV[i]), w[2]), tonumber(ARGV[i + 1])
      if cost < 0 then cost = -math.min(-cost, tonumber(redis.call('HGET', w[1], bucket % BUCKETS)) or 0) end
      if bucket > w[2] - BUCKETS and cost ~= 0 then
        if w[3] == 0 or bucket < w[4] then w[4] = bucket end
        w[3] = w[3] + cost
        redis.call('HINCRBY', w[1], bucket % BUCKETS, cost)
        if bucket == w[4] then w[4] = firstCounted(w, bucket) end
      end
    end
    redis.call('HSET', w[1], 'l', w[2], 's', w[3], 'o', w[4], 'p', monthText(w), 'u', w[6], 'e', w[13])
  end
end
return {1, a[6], a[6] - a[13], k[6], k[6] - k[13], now * 1000000 + tonumber(time[2])}
`;
