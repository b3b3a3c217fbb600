-- One call for each request, over a connection from the worker's pool: what a hand-written gateway does.
local script = require "redis_script"
local sub, tcp = string.sub, ngx.socket.tcp

-- The answer's line; nil when Redis fails.
return function(command, port)
  local socket = tcp()
  -- generous, because load and backend share the core of Redis
  socket:settimeouts(1000, 1000, 1000)
  if not socket:connect("127.0.0.1", port) then return nil end
  if not socket:send(command) then return nil end
  local line = socket:receive()
  if line and sub(line, 1, 9) == "-NOSCRIPT" then
    script.load(socket)
    socket:send(command)
    line = socket:receive()
  end
  if not line then return nil end
  socket:setkeepalive(60000, 256)
  return sub(line, 1, 1) == "+" and line or nil
end
