-- The hand-written gateway: key, scope, four windows in one atomic call to Redis, headers. Written to be fast: no pattern
-- matching and no table per request on the way, records and Redis commands are built once and kept, one line comes back.
local ffi = require "ffi"
local script = require "redis_script"
local C, ngx = ffi.C, ngx
local find, sub, format = string.find, string.sub, string.format
local floor, tonumber = math.floor, tonumber
local var, header = ngx.var, ngx.header
local api_keys = ngx.shared.api_keys

ffi.cdef [[ unsigned char *SHA256(const unsigned char *data, size_t length, unsigned char *digest); ]]
local digest = ffi.new("unsigned char[32]")

-- `count(command, port)` asks Redis, in one of the two ways that stand beside this file; set by the configuration.
local gateway = { redis_port = 6379, count = nil }

-- Keys ----------------------------------------------------------------------------------------------------------------

local function from_hex(hex)
  return (hex:gsub("..", function(byte) return string.char(tonumber(byte, 16)) end))
end

-- Called once at start: hash, account, key id, scopes and four limits on each line, tabs between.
function gateway.load_keys(file)
  for line in io.lines(file) do
    local tab = find(line, "\t", 1, true)
    api_keys:set(from_hex(sub(line, 1, tab - 1)), sub(line, tab + 1))
  end
end

-- Records by the text that stands in the shared dict: parsed once, and again when the text changes.
local records = {}

local function parse(text)
  local fields = {}
  for field in text:gmatch("[^\t]+") do fields[#fields + 1] = field end
  local limits = { tonumber(fields[4]), tonumber(fields[5]), tonumber(fields[6]), tonumber(fields[7]) }
  local granted = {}
  for scope in fields[3]:gmatch("%S+") do granted[scope] = true end
  local record = { account = fields[1], key_id = fields[2], scopes = fields[3], granted = granted, limits = limits }
  record.limit1, record.limit2, record.limit3, record.limit4 = limits[1], limits[2], limits[3], limits[4]
  records[text] = record
  return record
end

local function find_record(authorization)
  if sub(authorization, 1, 7) ~= "Bearer " then return nil end
  local secret = sub(authorization, 8)
  C.SHA256(secret, #secret, digest)
  local text = api_keys:get(ffi.string(digest, 32))
  return text and (records[text] or parse(text))
end

-- Time: everything that changes once a second at most ----------------------------------------------------------------------

local clock = { second = 0 }

local function tick(now)
  clock.second = now
  clock.minute = floor(now / 60)
  clock.minute_reset = 60 - now % 60
  if clock.month_end and now < clock.month_end then
    clock.month_reset = clock.month_end - now
    return
  end
  -- both ends are read as local time, so that their difference to UTC cancels out
  local date = os.date("!*t", now)
  local start = os.time { year = date.year, month = date.month, day = 1, hour = 0 }
  local next_start = os.time { year = date.year, month = date.month + 1, day = 1, hour = 0 }
  local elapsed = (date.day - 1) * 86400 + date.hour * 3600 + date.min * 60 + date.sec
  clock.month = format("%04d-%02d", date.year, date.month)
  clock.month_length = next_start - start
  clock.month_end = now - elapsed + clock.month_length
  clock.month_reset = clock.month_end - now
end

-- The command of a record and its policy field hold for a minute; under load nearly every request finds them ready.
local function prepare(record)
  local limits, month, minute = record.limits, clock.month, clock.minute
  record.command = script.encode("EVALSHA", script.sha1, 4,
    "key:" .. record.key_id .. ":minute:" .. minute, "account:" .. record.account .. ":minute:" .. minute,
    "key:" .. record.key_id .. ":month:" .. month, "account:" .. record.account .. ":month:" .. month,
    limits[1], limits[2], limits[3], limits[4])
  record.minute = minute
  record.policy = format('"key-minute";q=%d;w=60, "account-minute";q=%d;w=60, "key-month";q=%d;w=%d, "account-month";q=%d;w=%d',
    limits[1], limits[2], limits[3], clock.month_length, limits[4], clock.month_length)
end

-- Answers -------------------------------------------------------------------------------------------------------------

local function refuse(status, code, detail)
  ngx.status = status
  header["Content-Type"] = "application/problem+json"
  header["X-Request-Id"] = var.request_id
  if status == 401 then header["WWW-Authenticate"] = 'Bearer realm="api"' end
  ngx.print('{"type":"about:blank","status":', status, ',"code":"', code, '","detail":"', detail, '","request_id":"',
    var.request_id, '"}')
  return ngx.exit(status)
end

-- A function of its own: what comes after a yield is compiled only from a function's entry on.
local function answer(record, line)
  local first = find(line, " ", 1, true)
  local second = find(line, " ", first + 1, true)
  local third = find(line, " ", second + 1, true)
  local fourth = find(line, " ", third + 1, true)
  local limit, reset = record.limit1, clock.minute_reset
  local left1 = record.limit1 - tonumber(sub(line, first + 1, second - 1))
  local left2 = record.limit2 - tonumber(sub(line, second + 1, third - 1))
  local left3 = record.limit3 - tonumber(sub(line, third + 1, fourth - 1))
  local left4 = record.limit4 - tonumber(sub(line, fourth + 1))
  local left = left1
  if left2 < left then left, limit = left2, record.limit2 end
  if left3 < left then left, limit, reset = left3, record.limit3, clock.month_reset end
  if left4 < left then left, limit, reset = left4, record.limit4, clock.month_reset end
  header["RateLimit-Policy"] = record.policy
  header["RateLimit"] = '"key-minute";r=' .. left1 .. ";t=" .. clock.minute_reset .. ', "account-minute";r=' .. left2 .. ";t="
    .. clock.minute_reset .. ', "key-month";r=' .. left3 .. ";t=" .. clock.month_reset .. ', "account-month";r=' .. left4
    .. ";t=" .. clock.month_reset
  header["X-RateLimit-Limit"] = limit
  header["X-RateLimit-Remaining"] = left
  header["X-RateLimit-Reset"] = reset
  return tonumber(sub(line, 2, first - 1))
end

-- The steps in order: 401, 403, 503, 429, or on to the backend.
function gateway.access(scope)
  local authorization = var.http_authorization
  if not authorization then return refuse(401, "missing_api_key", "Send your API key as a bearer token.") end
  local record = find_record(authorization)
  if not record then return refuse(401, "invalid_api_key", "This API key is not known.") end
  if not record.granted[scope] then return refuse(403, "insufficient_scope", "This API key lacks " .. scope .. ".") end

  local now = ngx.time()
  if now ~= clock.second then tick(now) end
  if record.minute ~= clock.minute then prepare(record) end
  local line = gateway.count(record.command, gateway.redis_port)
  if not line then return refuse(503, "quota_unavailable", "The counters cannot be reached.") end
  local refused = answer(record, line)
  if refused > 0 then
    header["Retry-After"] = refused < 3 and clock.minute_reset or clock.month_reset
    return refuse(429, refused < 3 and "rate_limited" or "quota_exceeded", "A limit of this API key is used up.")
  end
  var.account, var.key_id, var.scopes = record.account, record.key_id, record.scopes
end

return gateway
