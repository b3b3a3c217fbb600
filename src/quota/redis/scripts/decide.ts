/**
 * Generates the decision script, which checks every window of a key and its account in one atomic step, by Redis's
 * clock. The counting process implements the same script in `counting/decide-script.ts`.
 */
import { WINDOWS, type QuotaWindow } from '../../../platform/quotas/windows.js';
import { WINDOW_LUA } from './window.js';

/**
 * Number of values per group in the response of `DECIDE_LUA`. They are the number of admitted requests, a count for
 * each window, and four numbers about the minute windows.
 */
export const DECIDE_NUMBERS = 1 + WINDOWS.length + 4;

const COUNTERS = { account: 'a', key: 'k' } as const;
/**
 * Positions of the counts in the table that `load` returns. For a day, the count is the month's usage before that day,
 * which does not change during the day.
 */
const NUMBERS = { minute: 3, month: 6, day: 13 } as const;
/** Positions of the same counts in the texts that `load` read from Redis and did not change (`w[8]`). */
const TEXTS = { minute: 2, month: 5, day: 7 } as const;

/**
 * Generates a piece of Lua for each window. `limit` is the name of the Lua variable with the window's limit. `count` is
 * the Lua expression for the window's count.
 */
function forEachWindow(
  separator: string,
  luaOf: (window: QuotaWindow, limit: string, count: string) => string | undefined,
): string {
  const pieces = WINDOWS.map((window, index) => luaOf(window, `l${index}`, countOf(window)));
  return pieces.filter((piece) => piece !== undefined).join(separator);
}

/** Returns the Lua expression for the count of a window. */
function countOf({ of, period }: QuotaWindow): string {
  const counter = COUNTERS[of];
  return period === 'day' ? `(${counter}[6] - ${counter}[13])` : `${counter}[${NUMBERS[period]}]`;
}

const LIMITS = forEachWindow(', ', (_window, limit) => limit);
const ZEROS = ' 0'.repeat(DECIDE_NUMBERS - 1);

/**
 * Decides groups of equal requests.
 *
 * KEYS: the account counter and the key counter of each group, then the node's batch marker.
 *
 * ARGV:
 * - the last instant (ms) at which the script may still run
 * - the batch's number
 * - the marker's time to live (ms; negative: only if the marker is new)
 * - the groups
 *
 * The groups are one text with a line per group. A line has numbers separated by spaces:
 * - cost, number of requests
 * - limits, in the order of `WINDOWS` (-1: none)
 * - month label, next month's label, day label
 * - the counters' expiry (ms, absolute)
 *
 * The response is one text with numbers separated by spaces. The first is the time in µs. If the call came too late,
 * nothing was counted, and the text contains only the time. Otherwise it continues for each group with:
 * - number of admitted requests, or one of these:
 *   - -1: a counter must be seeded, because it is missing or does not know the month
 *   - -2: a counter is young, and this node must report first
 * - usage before, in the order of the limits (for a day: usage of its month before that day)
 * - oldest bucket of account and key
 * - second from which one more request fits, for account and key (0: the request fits now)
 *
 * Arguments and response are single texts, because clients spend more on a hundred small values than Redis spends on
 * parsing.
 *
 * If the script counted any cost, it also writes a marker. The marker contains the batch's number, the second, and the
 * number of admitted requests of each group. A node that gets no response refunds the batch with `UNDO_LUA`, which
 * reads the marker.
 */
export const DECIDE_LUA = `${WINDOW_LUA}
local GROUPS, LIMITS = '(%S+) (%S+) ([^\\n]+)\\n', '${forEachWindow(' ', () => '(%S+)')} (%S+) (%S+) (%S+) (%S+)'
local time = redis.call('TIME')
local now = tonumber(time[1])
local nowUs = now * 1000000 + tonumber(time[2])
local out = {text(nowUs)}
if nowUs >= (tonumber(ARGV[1]) + 1) * 1000 then return out[1] end
local marker, counted = {ARGV[2], now}, false

local function decide(a, k, cost, wanted, ${LIMITS}, period, following, day, expireAt)
  if not a or not k then return '-1${ZEROS}', 0 end
  local isOther = a[5] ~= period or k[5] ~= period or a[12] ~= day or k[12] ~= day
  if isOther then
    checkYouth(a, now, KEYS[#KEYS])
    checkYouth(k, now, KEYS[#KEYS])
    if a[11] or k[11] then return '-2${ZEROS}', 0 end
    isOther = a[5] ~= period or k[5] ~= period or a[12] ~= day or k[12] ~= day
    if isOther and not (moveTo(a, period, following, day) and moveTo(k, period, following, day)) then
      return '-1${ZEROS}', 0
    end
  end
  local admitted = wanted
  if cost > 0 then
    ${forEachWindow('\n    ', (_window, limit, count) => {
      return `if ${limit} >= 0 then admitted = math.min(admitted, math.floor((${limit} - ${count}) / cost)) end`;
    })}
    if admitted < 0 then admitted = 0 end
  end
  local ${forEachWindow(', ', (_window, limit) => `u${limit}`)} = ${forEachWindow(', ', ({ of, period }) => `${COUNTERS[of]}[${NUMBERS[period]}]`)}
  if admitted > 0 and cost > 0 then
    add(a, admitted * cost)
    add(k, admitted * cost)
    counted = true
    if isOther then
      writePeriod(a, expireAt)
      writePeriod(k, expireAt)
    end
  end
  local af, kf = a[8], k[8]
  if admitted == wanted and af and kf then
    -- The usual case: return the texts that were read.
    local counts = ${forEachWindow(" .. ' ' .. ", ({ of, period }) => `${COUNTERS[of]}f[${TEXTS[period]}]`)}
    return text(admitted) .. ' ' .. counts .. ' ' .. af[3] .. ' ' .. kf[3] .. ' 0 0', admitted
  end
  local afreed, kfreed = 0, 0
  if admitted < wanted then
    ${forEachWindow('\n    ', ({ of, kind }, limit, count) => {
      if (kind !== 'sliding') return undefined;
      const over = `${count} + cost - ${limit}`;
      return `if ${limit} >= 0 and ${over} > 0 then ${COUNTERS[of]}freed = freedAt(${COUNTERS[of]}, ${over}) end`;
    })}
  end
  local counts = table.concat({${forEachWindow(', ', (_window, limit) => `text(u${limit})`)}}, ' ')
  return format('%d %s %d %d %d %d', admitted, counts, a[4], k[4], afreed, kfreed), admitted
end

local g, limits, period, following, day, expireAt = 1, nil, nil, nil, nil, nil
local ${LIMITS}
for cost, wanted, line in string.gmatch(ARGV[4], GROUPS) do
  -- Most groups have the limits of the same plan.
  if line ~= limits then
    limits = line
    ${LIMITS}, period, following, day, expireAt = string.match(line, LIMITS)
    ${LIMITS} = ${forEachWindow(', ', (_window, limit) => `tonumber(${limit})`)}
    period, following, day = tonumber(period), tonumber(following), tonumber(day)
  end
  local a, k = load(KEYS[g * 2 - 1], now), load(KEYS[g * 2], now)
  out[g + 1], marker[g + 2] =
    decide(a, k, tonumber(cost), tonumber(wanted), ${LIMITS}, period, following, day, expireAt)
  g = g + 1
end
if counted then
  local ttl = tonumber(ARGV[3])
  local isNew = redis.call('HSET', KEYS[#KEYS], 'b', table.concat(marker, ' ')) == 1
  if ttl > 0 or isNew then redis.call('PEXPIRE', KEYS[#KEYS], math.abs(ttl)) end
end
return table.concat(out, ' ')
`;
