-- Requests that come while a call is under way wait, and share the next write: what Trailgate does, done in Lua. One light
-- thread of the worker owns the only connection, each request waits on a semaphore of its own.
local script = require "redis_script"
local semaphore = require "ngx.semaphore"
local sub, tcp = string.sub, ngx.socket.tcp

local commands, tickets, count = {}, {}, 0
local wake, asleep, serving = semaphore.new(0), false, false
local free, free_count = {}, 0

local function exchange(socket, batch_commands, batch, size)
  if not socket:send(batch_commands) then return false end
  for i = 1, size do
    local line = socket:receive()
    if not line then return false end
    batch[i].line = line
    batch[i].semaphore:post(1)
  end
  return true
end

local function serve(_, port)
  local socket = tcp()
  socket:settimeouts(1000, 1000, 1000)
  socket:connect("127.0.0.1", port)
  script.load(socket)
  while not ngx.worker.exiting() do
    if count == 0 then
      asleep = true
      wake:wait(1)
      asleep = false
    else
      local batch_commands, batch, size = commands, tickets, count
      commands, tickets, count = {}, {}, 0
      if not exchange(socket, batch_commands, batch, size) then break end
    end
  end
  serving = false -- the next request starts another thread
end

local function ticket()
  if free_count == 0 then return { semaphore = semaphore.new(0) } end
  local used = free[free_count]
  free_count = free_count - 1
  return used
end

-- The answer's line; nil when Redis fails.
return function(command, port)
  if not serving then
    serving = true
    ngx.timer.at(0, serve, port)
  end
  local mine = ticket()
  count = count + 1
  commands[count], tickets[count] = command, mine
  if asleep then
    asleep = false
    wake:post(1)
  end
  if not mine.semaphore:wait(1) then return nil end -- the ticket is left alone: its answer may still come
  free_count = free_count + 1
  free[free_count] = mine
  local line = mine.line
  return sub(line, 1, 1) == "+" and line or nil
end
