-- The one script that both ways of asking Redis use, and how a command is written for the wire (RESP).
local M = {}

-- All four windows admit and all count, or one refuses and none counts. Answers one line: 0 or the number of the window
-- that refuses, then the four counts.
M.text = [[
local used = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
for i = 1, 4 do
  used[i] = tonumber(used[i] or 0)
end
for i = 1, 4 do
  if used[i] >= tonumber(ARGV[i]) then
    return redis.status_reply(i .. ' ' .. table.concat(used, ' '))
  end
end
for i = 1, 4 do
  used[i] = redis.call('INCR', KEYS[i])
  if used[i] == 1 then redis.call('EXPIRE', KEYS[i], i < 3 and 120 or 2764800) end
end
return redis.status_reply('0 ' .. table.concat(used, ' '))]]

M.sha1 = ngx.sha1_bin(M.text):gsub(".", function(byte) return string.format("%02x", byte:byte()) end)

-- A command with its arguments: an array of bulk strings.
function M.encode(...)
  local parts = { "*" .. select("#", ...) .. "\r\n" }
  for _, argument in ipairs { ... } do
    local text = tostring(argument)
    parts[#parts + 1] = "$" .. #text .. "\r\n" .. text .. "\r\n"
  end
  return table.concat(parts)
end

-- Loads the script over a connection, which must have no answer under way. Answers nothing; a failure shows at the next call.
function M.load(socket)
  socket:send(M.encode("SCRIPT", "LOAD", M.text))
  if socket:receive() then socket:receive() end
end

return M
