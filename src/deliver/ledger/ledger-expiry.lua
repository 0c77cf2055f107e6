-- The rows of a run expire `days` after their last change, but not while one of them needs a decision: rows without an
-- expiry contain one that is `unknown`.
local function renewExpiry(rows, days)
  if redis.call('TTL', rows) ~= -1 then redis.call('EXPIRE', rows, tonumber(days) * 86400) end
end

local function keepForDecision(rows, undecided, id, at)
  redis.call('ZADD', undecided, at, id)
  redis.call('PERSIST', undecided)
  redis.call('PERSIST', rows)
end

-- Called when a row is no longer `unknown`.
local function endDecision(rows, undecided, id, days)
  redis.call('ZREM', undecided, id)
  local fields = redis.call('HGETALL', rows)
  for index = 1, #fields, 2 do
    if fields[index + 1] == 'unknown' and string.sub(fields[index], -6) == ':state' then return end
  end
  redis.call('EXPIRE', rows, tonumber(days) * 86400)
end
