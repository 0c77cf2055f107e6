--[[
  Adds a decision to a run's record, whatever its state.

  KEYS[1]  the record: a hash   ARGV[1]  the decision as JSON

  A decision is unique by its time and author, so repeating the command changes nothing.
]]
-- @include ./append-decision.lua
local stored = redis.call('HMGET', KEYS[1], 'state', 'reopened')
local decisions = stored[2] or '[]'
if not stored[1] or string.sub(decisions, -#ARGV[1] - 1, -2) == ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'reopened', appendDecision(decisions, ARGV[1]))
return 1
