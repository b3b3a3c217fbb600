/**
 * Handles young counters in the Redis scripts. A counter is young for some seconds after it was created.
 *
 * A missing counter may have been lost a moment ago, with counts that only the nodes know. So a new counter is young
 * for `YOUTH_MS`. A negative month label marks young counters. Decisions compare the month label anyway, so other
 * counters need no additional check. Each node reports the counts that it knows before it counts in a young counter.
 *
 * `b` holds the second of creation, when the base was observed (µs), and the base. `n` followed by a node's name holds
 * the costs that this node has counted itself since the loss, as pairs of time (µs) and cost. The usage is the sum of
 * three parts, in whatever order they arrive:
 * - the base, which is the latest observation of any node or the database
 * - costs after that observation in counters that were lost again
 * - costs counted in this counter
 */

/** How long a counter is young. A live node needs less time to notice that Redis was emptied, and to report. */
export const YOUTH_MS = 10_000;

/** Lua functions for young counters, included in `WINDOW_LUA`. */
export const YOUNG_LUA = `
-- Makes a young counter an ordinary one.
local function endYouth(w)
  local gone = {'b'}
  for _, field in ipairs(call('HKEYS', w[1])) do
    if string.sub(field, 1, 1) == 'n' then gone[#gone + 1] = field end
  end
  call('HDEL', w[1], unpack(gone))
  call('HSET', w[1], 'p', text(w[5]))
  w[10] = false
end

-- Checks whether a loaded counter is young (w[10]), and whether 'node' must report first (w[11]). The last part of
-- 'node' is the node's name.
local function checkYouth(w, now, node)
  if not w or w[5] >= 0 then return w end
  w[5] = -w[5]
  local f = call('HMGET', w[1], 'b', 'n' .. string.match(node or '', '[^:]*$'))
  local birth = tonumber(string.match(f[1] or '', '^%d+'))
  if birth and now >= birth and now - birth < ${YOUTH_MS / 1_000} then
    w[10] = true
    w[11] = node and not f[2]
  else
    endYouth(w)
  end
  return w
end

-- Returns the month label as it is stored.
local function monthText(w)
  return text(w[10] and -w[5] or w[5])
end
`;
