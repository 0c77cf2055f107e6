--[[
  The responses of a run, and the bytes of responses that each organization has in Redis. Each call is one atomic step.

  GUARANTEES
    Neither a run nor an organization exceeds its limit: a response that would exceed it is not stored.
    Expired and deleted responses are subtracted from the sums, at the latest when they would prevent another response
    from being stored.

  KEYS (with the same hash tag; names and fields are stored)
    1 answers  hash    of the run: call -> compressed response
    2 account  hash    'run:<run>' and 'sum:<org>': bytes;  'org:<run>': its organization
    3 expiry   zset    run -> epoch seconds at which its responses expire

  ARGV
    1 operation  2 run
    put    3 org  4 call  5 compressed response  6 ttl seconds  7 max bytes of a run  8 max bytes of an organization
           9 prefix of the keys of responses                                   -> 1, or 0: not stored
    delete                                                                     -> 1
]]
local answers, account, expiry = KEYS[1], KEYS[2], KEYS[3]
local operation, run = ARGV[1], ARGV[2]

local function bytes(field) return tonumber(redis.call('HGET', account, field) or 0) end

local function forget(id)
  local org = redis.call('HGET', account, 'org:' .. id)
  if org then
    local left = bytes('sum:' .. org) - bytes('run:' .. id)
    redis.call('HDEL', account, 'org:' .. id, 'run:' .. id)
    if left > 0 then redis.call('HSET', account, 'sum:' .. org, left) else redis.call('HDEL', account, 'sum:' .. org) end
  end
  redis.call('ZREM', expiry, id)
end

if operation == 'delete' then
  -- This comes first: a Redis that is out of memory refuses a script whose first write may need memory.
  redis.call('UNLINK', answers)
  forget(run)
  return 1
end

local org, call, response, ttl = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local maxRunBytes, maxOrgBytes, prefix = tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9]
local now = tonumber(redis.call('TIME')[1])
for _, id in ipairs(redis.call('ZRANGEBYSCORE', expiry, '-inf', now, 'LIMIT', 0, 100)) do forget(id) end

if redis.call('EXISTS', answers) == 0 then
  forget(run)
elseif redis.call('HEXISTS', account, 'org:' .. run) == 0 then
  -- A version of Docket without an account stored the run's responses.
  local size = 0
  for _, each in ipairs(redis.call('HKEYS', answers)) do size = size + #each + redis.call('HSTRLEN', answers, each) end
  redis.call('HSET', account, 'org:' .. run, org, 'run:' .. run, size)
  redis.call('HINCRBY', account, 'sum:' .. org, size)
  redis.call('ZADD', expiry, now + ttl, run)
end

local before = 0
if redis.call('HEXISTS', answers, call) == 1 then before = #call + redis.call('HSTRLEN', answers, call) end
local more = #call + #response - before
if bytes('run:' .. run) + more > maxRunBytes then return 0 end
if bytes('sum:' .. org) + more > maxOrgBytes then
  -- Before it refuses, it drops runs whose responses are gone.
  for _, id in ipairs(redis.call('ZRANGE', expiry, 0, 999)) do
    if redis.call('EXISTS', prefix .. id) == 0 then forget(id) end
  end
  if bytes('sum:' .. org) + more > maxOrgBytes then return 0 end
end

redis.call('HSET', answers, call, response)
redis.call('EXPIRE', answers, ttl)
redis.call('HSET', account, 'org:' .. run, org)
redis.call('HINCRBY', account, 'run:' .. run, more)
redis.call('HINCRBY', account, 'sum:' .. org, more)
redis.call('ZADD', expiry, now + ttl, run)
redis.call('EXPIRE', account, ttl)
redis.call('EXPIRE', expiry, ttl)
return 1
