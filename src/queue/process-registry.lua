--[[
  Records heartbeats of processes, and lists the running ones.

  KEYS[1]  the processes: a sorted set by epoch ms of the last heartbeat
  ARGV[1]  ms after which a silent process counts as stopped   ARGV[2…]  members to record: `<role> <process>`

  Without members, returns the running ones. With members, records their heartbeat and returns none.
]]
-- @include ../redis/server-time.lua
local now = serverTimeMs()
local expired = string.format('%.0f', now - ARGV[1])
if #ARGV == 1 then return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. expired, '+inf') end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', expired)
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return {}
