--[[
  Manages leases of runs that a command itself executes.

  KEYS[1]  leases: a sorted set by epoch ms of expiry
  ARGV[1]  operation, its arguments -> its result:
    take run ms     -> 1
    renew run ms    -> 1, or 0 without a lease
    expired limit   -> runs whose lease has expired
]]
-- @include ../../../redis/server-time.lua
local operation, now = ARGV[1], serverTimeMs()
if operation == 'expired' then
  return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now), 'LIMIT', 0, ARGV[2])
end
if operation == 'renew' and not redis.call('ZSCORE', KEYS[1], ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3]), ARGV[2])
return 1
