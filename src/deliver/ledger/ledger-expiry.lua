--[[
  Included in the other scripts of the ledger. A run's rows expire a number of days after their last change, but not
  while one of them is `unknown`.
]]
local function renewExpiry(rows, days)
  if redis.call('TTL', rows) ~= -1 then redis.call('EXPIRE', rows, tonumber(days) * 86400) end
end

local function addUnknown(rows, unknown, id, at)
  redis.call('ZADD', unknown, at, id)
  redis.call('PERSIST', unknown)
  redis.call('PERSIST', rows)
end

-- Call it after a row has left `unknown`.
local function removeUnknown(rows, unknown, id, days)
  redis.call('ZREM', unknown, id)
  local fields = redis.call('HGETALL', rows)
  for index = 1, #fields, 2 do
    if fields[index + 1] == 'unknown' and string.sub(fields[index], -6) == ':state' then return end
  end
  redis.call('EXPIRE', rows, tonumber(days) * 86400)
end
