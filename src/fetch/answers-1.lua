--[[
  The answers of a run, and how many bytes of answers each organization has in Redis. One atomic step per call.

  GUARANTEE
    Neither a run nor an organization has more bytes of answers than it may; an answer that would be too much is not kept.
    The account follows the answers: what expired, was dropped or was deleted by somebody is in no sum any more, at the
    latest when it would be in the way of another answer.

  KEYS (with the same hash tag)
    1 answers  hash    of the run: call -> packed answer
    2 account  hash    'run:<run>' and 'sum:<org>': bytes;  'org:<run>': whose it is
    3 expiry   zset    run -> epoch seconds at which its answers expire

  ARGV
    1 operation  2 run
    put    3 org  4 call  5 packed answer  6 seconds to keep  7 bytes a run  8 bytes an organization
           9 prefix of the keys of answers                                     -> 1, or 0: not kept
    drop                                                                       -> 1
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

if operation == 'drop' then
  -- First, because a full Redis refuses a script whose first write may need memory, and this is what makes room.
  redis.call('UNLINK', answers)
  forget(run)
  return 1
end

local org, call, packed, seconds = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local mostOfRun, mostOfOrg, prefix = tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9]
local now = tonumber(redis.call('TIME')[1])
for _, id in ipairs(redis.call('ZRANGEBYSCORE', expiry, '-inf', now, 'LIMIT', 0, 100)) do forget(id) end

if redis.call('EXISTS', answers) == 0 then
  forget(run)
elseif redis.call('HEXISTS', account, 'org:' .. run) == 0 then
  -- Its answers were kept by a version of Docket that had no account.
  local size = 0
  for _, each in ipairs(redis.call('HKEYS', answers)) do size = size + #each + redis.call('HSTRLEN', answers, each) end
  redis.call('HSET', account, 'org:' .. run, org, 'run:' .. run, size)
  redis.call('HINCRBY', account, 'sum:' .. org, size)
  redis.call('ZADD', expiry, now + seconds, run)
end

local before = 0
if redis.call('HEXISTS', answers, call) == 1 then before = #call + redis.call('HSTRLEN', answers, call) end
local more = #call + #packed - before
if bytes('run:' .. run) + more > mostOfRun then return 0 end
if bytes('sum:' .. org) + more > mostOfOrg then
  -- Before one is sent away: is all of it still there?
  for _, id in ipairs(redis.call('ZRANGE', expiry, 0, 999)) do
    if redis.call('EXISTS', prefix .. id) == 0 then forget(id) end
  end
  if bytes('sum:' .. org) + more > mostOfOrg then return 0 end
end

redis.call('HSET', answers, call, packed)
redis.call('EXPIRE', answers, seconds)
redis.call('HSET', account, 'org:' .. run, org)
redis.call('HINCRBY', account, 'run:' .. run, more)
redis.call('HINCRBY', account, 'sum:' .. org, more)
redis.call('ZADD', expiry, now + seconds, run)
redis.call('EXPIRE', account, seconds)
redis.call('EXPIRE', expiry, seconds)
return 1
