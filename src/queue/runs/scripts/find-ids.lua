--[[
  KEYS[1]  ids of all runs   KEYS[2]  the index of all runs by time
  ARGV[1]  from   ARGV[2]  to, both as for ZRANGEBYLEX   ARGV[3]  at most so many

  Returns the ids, or nil when the index of ids is incomplete: versions before it existed write the index by time alone.
]]
if redis.call('ZCARD', KEYS[1]) ~= redis.call('ZCARD', KEYS[2]) then return false end
return redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
