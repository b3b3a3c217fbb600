/**
 * Counters that were created lately, as Redis runs them. One that is created anew may have been lost a moment ago, with
 * counts that only the nodes know by which they were admitted. It is young for a while: its month is written below
 * zero, so that a decision, which compares the month anyway, comes here and spends nothing on all the others. Each node
 * hands in what it knows before it counts there.
 *
 * `b` holds the second of its birth, and when its base was observed (µs) and what it was; `n` and a node's name what
 * that node has counted itself since the loss: instants (µs) and costs in turn. What is used is the latest observation
 * that anybody handed in, what was counted after that observation in counters that were lost again meanwhile, and what
 * has been counted here: in whatever order it comes.
 */

/**
 * How long a counter is young: longer than a node that lives takes to notice that Redis was emptied, and to hand in.
 */
export const YOUTH_MS = 10_000;

/** Functions of `WINDOW_LUA`. */
export const YOUNG_LUA = `
-- Ends a counter's youth.
local function grown(w)
  local gone = {'b'}
  for _, field in ipairs(call('HKEYS', w[1])) do
    if string.sub(field, 1, 1) == 'n' then gone[#gone + 1] = field end
  end
  call('HDEL', w[1], unpack(gone))
  call('HSET', w[1], 'p', text(w[5]))
  w[10] = false
end

-- Looks whether a counter that was loaded is young: w[10]; and whether 'node' (the last part of a name) has to hand in
-- first: w[11].
local function young(w, now, node)
  if not w or w[5] >= 0 then return w end
  w[5] = -w[5]
  local f = call('HMGET', w[1], 'b', 'n' .. string.match(node or '', '[^:]*$'))
  local birth = tonumber(string.match(f[1] or '', '^%d+'))
  if birth and now >= birth and now - birth < ${YOUTH_MS / 1_000} then
    w[10] = true
    w[11] = node and not f[2]
  else
    grown(w)
  end
  return w
end

-- The month as it is written.
local function monthText(w)
  return text(w[10] and -w[5] or w[5])
end
`;
