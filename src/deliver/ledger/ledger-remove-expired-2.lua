--[[
  Removes an id from the set of `unknown` rows, unless its row exists.

  KEYS[1]  the run's rows: a hash   KEYS[2]  the rows in state `unknown`: a sorted set by time   ARGV[1]  id

  Returns the number of removed members.
]]
if redis.call('HEXISTS', KEYS[1], ARGV[1] .. ':row') == 1 then return 0 end
return redis.call('ZREM', KEYS[2], ARGV[1])
