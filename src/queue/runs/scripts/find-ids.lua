-- Finds ids of runs in lexical order.
--[[
  KEYS[1]  ids of all runs   KEYS[2]  the index of all runs by time
  ARGV[1]  from   ARGV[2]  to, both as for ZRANGEBYLEX   ARGV[3]  maximum number

  Returns the ids, or nil if the index of ids is incomplete: older versions only write the index by time.
]]
if redis.call('ZCARD', KEYS[1]) ~= redis.call('ZCARD', KEYS[2]) then return false end
return redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
