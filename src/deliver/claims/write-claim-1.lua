--[[
  Replaces the claim of a period, if it has not changed since it was read.

  KEYS[1]  the claim: a string
  ARGV[1]  the claim that was read, empty for none   ARGV[2]  the new claim   ARGV[3]  ms to keep it

  The client repeats a command after a lost reply: the new claim may already be stored then.
  Returns 1, or 0 if another process has written since.
]]
local stored = redis.call('GET', KEYS[1]) or ''
if stored ~= ARGV[1] and stored ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
