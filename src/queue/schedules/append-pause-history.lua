-- @include ../../redis/server-time.lua
local MAX_HISTORY = 1000

-- KEYS[2]: the history, a list. Dated by the server's clock, because callers are on several machines.
local function appendHistory(what, org, report, who, why)
  local at = serverTimeMs()
  redis.call('LPUSH', KEYS[2], cjson.encode({ what = what, at = at, org = org, report = report, who = who, why = why }))
  redis.call('LTRIM', KEYS[2], 0, MAX_HISTORY - 1)
end
