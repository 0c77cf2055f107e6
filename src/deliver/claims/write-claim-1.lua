--[[
  Replaces the claim of a period, if it is still what was read.

  KEYS[1]  the claim: a string
  ARGV[1]  what was read, empty for none   ARGV[2]  the new claim   ARGV[3]  ms to keep it

  The client repeats a command with a lost reply: then the new claim is stored already.
  Returns 1, or 0 where another process has written since.
]]
local stored = redis.call('GET', KEYS[1]) or ''
if stored ~= ARGV[1] and stored ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
