--[[
  The answer to one question that several runs may use, and who is asking now. One atomic step per call of this script.

  GUARANTEE
    An answer is found only by those who allow its age, or who wanted it before it was asked for. Its age counts from the
    claim of its call, less what it was older by then. Of two answers the one computed later stays.
    One holder at a time asks, until its answer lands, it releases, or its time is over.
    Time is this Redis's own; an answer from its future (a failover to a slower clock) is not believed.
    The answers of one API key take no more bytes than they may: one that would be too much is not kept, and whoever waits
    for it asks itself.
    The same machine stands in memory-shared.ts; one suite of tests holds both to the same answers.

  KEYS (with the same hash tag)
    1 answer   hash    computed, asked, till: ms;  packed: the answer itself, which this script never reads
    2 flight   string  the holder that asks; gone when it must be dead
    of 'land' alone:
    3 account  hash    question -> bytes of its answer;  '': of all of the API key
    4 expiry   zset    question -> epoch ms at which its answer expires

  ARGV
    1 operation
    look    2 ms of age allowed  3 ms since it is wanted  4 holder   -> {'answered'} | {'asking', ms at most} | {'nobody'}
    claim   2 - 4 as above  5 ms at most                             -> the same, or {'claimed', asked}
    land    2 holder  3 asked  4 ms computed before  5 ms to keep  6 packed
            7 question  8 bytes an API key                                    -> {}
    release 2 holder                                                          -> {}
  What a holder asks itself is `nobody` to it: it asks again after a crash, and a command that was sent again finds its
  own claim.
]]
local answer, flight = KEYS[1], KEYS[2]
local operation = ARGV[1]
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function instants()
  local kept = redis.call('HMGET', answer, 'computed', 'asked', 'till')
  return tonumber(kept[1]), tonumber(kept[2]), tonumber(kept[3])
end
local function digits(ms) return string.format('%.0f', ms) end
local function release(holder)
  if redis.call('GET', flight) == holder then redis.call('DEL', flight) end
end

-- Whether there is room for so many bytes of this question's answer, which are counted then.
local function account(question, bytes, most, expires)
  local sizes, expiry = KEYS[3], KEYS[4]
  local function forget(id)
    redis.call('HINCRBY', sizes, '', -tonumber(redis.call('HGET', sizes, id) or 0))
    redis.call('HDEL', sizes, id)
    redis.call('ZREM', expiry, id)
  end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', expiry, '-inf', now, 'LIMIT', 0, 100)) do forget(id) end
  local before = tonumber(redis.call('HGET', sizes, question) or 0)
  if tonumber(redis.call('HGET', sizes, '') or 0) - before + bytes > most then return false end
  redis.call('HSET', sizes, question, bytes)
  redis.call('HINCRBY', sizes, '', bytes - before)
  redis.call('ZADD', expiry, digits(expires), question)
  -- No answer is used for longer than a day.
  redis.call('EXPIRE', sizes, 90000)
  redis.call('EXPIRE', expiry, 90000)
  return true
end

if operation == 'look' or operation == 'claim' then
  local maxAge, wanted, holder = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
  local computed, asked, till = instants()
  if computed and asked <= now and now <= till and (now - computed <= maxAge or now - asked <= wanted) then return { 'answered' } end
  local other = redis.call('GET', flight)
  if other and other ~= holder then
    local left = redis.call('PTTL', flight)
    -- A step back of Redis' clock makes the claim of a worker that died last longer by that step.
    if left > 600000 then
      left = 60000
      redis.call('PEXPIRE', flight, left)
    end
    return { 'asking', left }
  end
  if operation == 'look' then return { 'nobody' } end
  redis.call('SET', flight, holder, 'PX', ARGV[5])
  return { 'claimed', now }
elseif operation == 'land' then
  local asked = tonumber(ARGV[3])
  local computed = asked - tonumber(ARGV[4])
  local before, latest, till = instants()
  local newer = not before or before <= computed or till < now
  local kept = newer and account(ARGV[7], #ARGV[6], tonumber(ARGV[8]), now + tonumber(ARGV[5]))
  if kept then
    -- How long an answer may be used is what its own asker allowed.
    redis.call('HSET', answer, 'computed', digits(computed), 'packed', ARGV[6], 'till', digits(now + tonumber(ARGV[5])))
    redis.call('PEXPIRE', answer, ARGV[5])
  end
  -- One that found no room says nothing of the older one that stays.
  if kept or not newer then redis.call('HSET', answer, 'asked', digits(math.max(asked, latest or asked))) end
  release(ARGV[2])
elseif operation == 'release' then
  release(ARGV[2])
else
  return redis.error_reply('ERR unknown operation ' .. tostring(operation))
end
return {}
