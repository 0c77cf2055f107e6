--[[
  The cached response of one cache key, and the holder of its request in flight. Each call of this script is one atomic
  step.

  GUARANTEES
    A response is a hit only if its age is allowed, or if it was requested after the caller began to need it. Its age
    counts from the claim of its request, plus its age at that time. Of two responses the one computed later is stored.
    One holder at a time requests it, until it puts a response, releases its claim, or the claim expires.
    Time is this Redis's clock. A response from the future (a failover to a slower clock) is a miss.
    The responses of one API key never take more bytes than allowed: one that would exceed the limit is not stored, and
    waiting runs make their own request.
    memory-response-cache.ts is the same state machine; one test suite compares the two.

  KEYS (with the same hash tag; names and fields are stored)
    1 answer   hash    computed, asked (claimed at), till: ms;  packed: the compressed response, never read here
    2 flight   string  the holder of the request in flight; expires when it is presumed dead
    only for 'put':
    3 account  hash    cache key -> bytes of its response;  '': total of the API key
    4 expiry   zset    cache key -> epoch ms at which its response expires

  ARGV
    1 operation
    lookup  2 max age ms  3 ms since needed        4 holder  -> {'hit'} | {'in_flight', ms at most} | {'miss'}
    claim   2 - 4 as above  5 ttl ms                         -> the same, or {'claimed', claimed at}
    put     2 holder  3 claimed at  4 age at claim ms  5 ttl ms  6 compressed response
            7 cache key  8 max bytes of the API key          -> {}
    release 2 holder                                         -> {}
  A holder's own request in flight is a miss for that holder: after a crash it requests again, and a command that was
  resent finds its own claim.
]]
-- @include ../../redis/server-time.lua
local answer, flight = KEYS[1], KEYS[2]
local operation = ARGV[1]
local now = serverTimeMs()

local function instants()
  local stored = redis.call('HMGET', answer, 'computed', 'asked', 'till')
  return tonumber(stored[1]), tonumber(stored[2]), tonumber(stored[3])
end
local function digits(ms) return string.format('%.0f', ms) end
local function release(holder)
  if redis.call('GET', flight) == holder then redis.call('DEL', flight) end
end

-- Adds the bytes of a response to the account, unless that exceeds the limit. Returns whether they were added.
local function account(cacheKey, bytes, maxBytes, expires)
  local sizes, expiry = KEYS[3], KEYS[4]
  local function forget(id)
    redis.call('HINCRBY', sizes, '', -tonumber(redis.call('HGET', sizes, id) or 0))
    redis.call('HDEL', sizes, id)
    redis.call('ZREM', expiry, id)
  end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', expiry, '-inf', now, 'LIMIT', 0, 100)) do forget(id) end
  local before = tonumber(redis.call('HGET', sizes, cacheKey) or 0)
  if tonumber(redis.call('HGET', sizes, '') or 0) - before + bytes > maxBytes then return false end
  redis.call('HSET', sizes, cacheKey, bytes)
  redis.call('HINCRBY', sizes, '', bytes - before)
  redis.call('ZADD', expiry, digits(expires), cacheKey)
  -- No response may be used for longer than a day.
  redis.call('EXPIRE', sizes, 90000)
  redis.call('EXPIRE', expiry, 90000)
  return true
end

if operation == 'lookup' or operation == 'claim' then
  local maxAge, waiting, holder = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
  local computed, asked, till = instants()
  if computed and asked <= now and now <= till and (now - computed <= maxAge or now - asked <= waiting) then return { 'hit' } end
  local other = redis.call('GET', flight)
  if other and other ~= holder then
    local left = redis.call('PTTL', flight)
    -- If the clock of Redis is set back, the claim of a dead worker would last longer by that step.
    if left > 600000 then
      left = 60000
      redis.call('PEXPIRE', flight, left)
    end
    return { 'in_flight', left }
  end
  if operation == 'lookup' then return { 'miss' } end
  redis.call('SET', flight, holder, 'PX', ARGV[5])
  return { 'claimed', now }
elseif operation == 'put' then
  local asked = tonumber(ARGV[3])
  local computed = asked - tonumber(ARGV[4])
  local before, latest, till = instants()
  local newer = not before or before <= computed or till < now
  local stored = newer and account(ARGV[7], #ARGV[6], tonumber(ARGV[8]), now + tonumber(ARGV[5]))
  if stored then
    -- The report that made the request decides how long others may use its response.
    redis.call('HSET', answer, 'computed', digits(computed), 'packed', ARGV[6], 'till', digits(now + tonumber(ARGV[5])))
    redis.call('PEXPIRE', answer, ARGV[5])
  end
  -- If the response was not stored, the older one stays.
  if stored or not newer then redis.call('HSET', answer, 'asked', digits(math.max(asked, latest or asked))) end
  release(ARGV[2])
elseif operation == 'release' then
  release(ARGV[2])
else
  return redis.error_reply('ERR unknown operation ' .. tostring(operation))
end
return {}
