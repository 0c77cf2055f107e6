--[[
  Stands in front of the other scripts of the ledger. The rows of a run expire so many days after their last change, but not
  while one of them waits for a decision: rows without an expiry have one that is `unknown`.
]]
local function renewExpiry(rows, days)
  if redis.call('TTL', rows) ~= -1 then redis.call('EXPIRE', rows, tonumber(days) * 86400) end
end

local function waitForDecision(rows, waiting, id, at)
  redis.call('ZADD', waiting, at, id)
  redis.call('PERSIST', waiting)
  redis.call('PERSIST', rows)
end

-- After a row has ceased to be `unknown`.
local function endOfWait(rows, waiting, id, days)
  redis.call('ZREM', waiting, id)
  local fields = redis.call('HGETALL', rows)
  for index = 1, #fields, 2 do
    if fields[index + 1] == 'unknown' and string.sub(fields[index], -6) == ':state' then return end
  end
  redis.call('EXPIRE', rows, tonumber(days) * 86400)
end
