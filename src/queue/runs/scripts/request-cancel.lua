--[[
  Records the request to cancel a run, unless it has ended or was already cancelled.

  KEYS[1]  the record: a hash   KEYS[2]  requested cancellations
  ARGV[1]  id   ARGV[2]  ttl, ms   ARGV[3]  the cancellation as JSON   ARGV[4]  the same, as a decision

  Returns 1 if it was recorded, else 0.
]]
-- @include ./append-decision.lua
-- @include ./terminal-states.lua
local stored = redis.call('HMGET', KEYS[1], 'state', 'reopened', 'cancel')
if not stored[1] or TERMINAL[stored[1]] or (stored[3] and stored[3] ~= 'null') then return 0 end
redis.call('HSET', KEYS[1], 'cancel', ARGV[3], 'reopened', appendDecision(stored[2] or '[]', ARGV[4]))
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 1
