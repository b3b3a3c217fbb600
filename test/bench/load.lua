-- The load: every request carries the next of the API keys. Prints one line, `RESULT {json}`, at the end.
-- Arguments after `--`: file with one secret a line, path, and for a verified run the length that each body must have and
-- `limits` where the RateLimit fields must be there.
local requests, position = {}, 0
local threads = {}
wrong, answered, complaint = 0, 0, ""

function setup(thread)
  threads[#threads + 1] = thread
end

function init(args)
  for secret in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format("GET", args[2], {
      Authorization = "Bearer " .. secret,
      Accept = "application/json",
      ["User-Agent"] = "trailgate-bench/1",
    })
  end
  if args[3] then verify(tonumber(args[3]), args[4] == "limits") end
end

function request()
  position = position % #requests + 1
  return requests[position]
end

-- Only in a verified run: a `response` function makes wrk collect every header and body, which costs the load's core.
function verify(length, limits)
  function response(status, headers, body)
    answered = answered + 1
    local fields = {}
    for name, value in pairs(headers) do fields[name:lower()] = value end
    local fault
    if status ~= 200 then
      fault = "status " .. status
    elseif #body ~= length then
      fault = "a body of " .. #body .. " bytes"
    elseif limits and not (fields["ratelimit"] and fields["ratelimit-policy"] and fields["x-ratelimit-remaining"]) then
      fault = "no RateLimit fields"
    end
    if fault then
      wrong = wrong + 1
      complaint = fault
    end
  end
end

function done(summary, latency)
  local bad, seen, reason = 0, 0, ""
  for _, thread in ipairs(threads) do
    bad = bad + thread:get("wrong")
    seen = seen + thread:get("answered")
    if thread:get("complaint") ~= "" then reason = thread:get("complaint") end
  end
  local e = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"bytes":%d,"microseconds":%d,"failed":%d,"refused":%d,"wrong":%d,"seen":%d,"complaint":"%s",'
      .. '"p50":%.3f,"p90":%.3f,"p99":%.3f,"max":%.3f}\n',
    summary.requests, summary.bytes, summary.duration, e.connect + e.read + e.write + e.timeout, e.status, bad, seen, reason,
    latency:percentile(50) / 1000, latency:percentile(90) / 1000, latency:percentile(99) / 1000, latency.max / 1000))
end
