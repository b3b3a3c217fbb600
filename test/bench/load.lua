-- The load: every request carries the next of the API keys. Prints one line, `RESULT {json}`, at the end.
-- Arguments after `--` are `name=value`:
--   path, method, body   the request; `body` is a file of JSON
--   fields               more lines of its head, with `|` between them
--   secrets, from        file with one secret a line, and which of them goes first; without it no key is sent
--   verify               looks at every answer: `status` (those that may come, with commas), `length` of its body (a number), `contains`
--                        (text in its body), `limits` (the RateLimit fields must be there); each only where it is given
local requests, position = {}, 0
local threads = {}
local options = {}
local body
wrong, answered, first, complaint = 0, 0, 0, ""

function setup(thread)
  threads[#threads + 1] = thread
end

function init(args)
  for _, text in ipairs(args) do
    local name, value = text:match("^(%w+)=(.*)$")
    options[name] = value
  end
  if options.body then body = contentsOf(options.body) end
  if options.secrets then
    for secret in io.lines(options.secrets) do requests[#requests + 1] = build(secret) end
  else
    requests[1] = build()
  end
  position = tonumber(options.from or 0) % #requests
  if options.verify then verify() end
end

-- Left open, files take the places of sockets: wrk has room for as many descriptors as it expects connections.
function contentsOf(name)
  local file = io.open(name, "rb")
  local text = file:read("*a")
  file:close()
  return text
end

-- Not `wrk.format`, which is free to put the key anywhere: LuaJIT finds a long string by a few bytes of its beginning, middle and end,
-- so with 100,000 keys requests must differ in the middle.
function build(secret)
  local lines = { (options.method or "GET") .. " " .. options.path .. " HTTP/1.1", "Host: " .. wrk.host .. ":" .. wrk.port }
  if secret then lines[#lines + 1] = "Authorization: Bearer " .. secret end
  lines[#lines + 1] = "Accept: application/json"
  lines[#lines + 1] = "User-Agent: trailgate-bench/1"
  for line in (options.fields or ""):gmatch("[^|]+") do lines[#lines + 1] = line end
  if body then
    lines[#lines + 1] = "Content-Type: application/json"
    lines[#lines + 1] = "Content-Length: " .. #body
  end
  return table.concat(lines, "\r\n") .. "\r\n\r\n" .. (body or "")
end

function request()
  position = position % #requests + 1
  return requests[position]
end

-- Only in a verified run: a `response` function makes wrk collect every header and body, which costs the load's core.
function verify()
  local allowed, usual = {}, nil
  for text in (options.status or "200"):gmatch("%d+") do
    usual = usual or tonumber(text)
    allowed[tonumber(text)] = true
  end
  local length, contains, limits = tonumber(options.length), options.contains, options.limits

  function response(status, headers, received)
    answered = answered + 1
    local fault
    if not allowed[status] then
      fault = "status " .. status .. " " .. (received:match('"code":"([%w_]+)"') or "")
    elseif status == usual then
      first = first + 1
      fault = faultOf(headers, received, length, contains, limits)
    end
    if fault then
      wrong = wrong + 1
      complaint = fault
    end
  end
end

function faultOf(headers, text, length, contains, limits)
  local fields = {}
  for name, value in pairs(headers) do fields[name:lower()] = value end
  if length and #text ~= length then return "a body of " .. #text .. " bytes" end
  if contains and not text:find(contains, 1, true) then return "a body without " .. contains:gsub('"', "'") end
  if limits and not (fields["ratelimit"] and fields["ratelimit-policy"] and fields["x-ratelimit-remaining"]) then
    return "no RateLimit fields"
  end
end

function done(summary, latency)
  local bad, seen, expected, reason = 0, 0, 0, ""
  for _, thread in ipairs(threads) do
    bad = bad + thread:get("wrong")
    seen = seen + thread:get("answered")
    expected = expected + thread:get("first")
    if thread:get("complaint") ~= "" then reason = thread:get("complaint") end
  end
  local e = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"bytes":%d,"microseconds":%d,"failed":%d,"refused":%d,"wrong":%d,"seen":%d,"usual":%d,"complaint":"%s",'
      .. '"p50":%.3f,"p90":%.3f,"p99":%.3f,"max":%.3f}\n',
    summary.requests, summary.bytes, summary.duration, e.connect + e.read + e.write + e.timeout, e.status, bad, seen, expected, reason,
    latency:percentile(50) / 1000, latency:percentile(90) / 1000, latency:percentile(99) / 1000, latency.max / 1000))
end
