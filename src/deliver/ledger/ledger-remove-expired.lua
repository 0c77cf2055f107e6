--[[
  Removes an id from the rows that need a decision, unless its row exists.

  KEYS[1]  the run's rows: a hash   KEYS[2]  rows that need a decision: a sorted set by time
  ARGV[1]  id

  Returns 1 when it is removed, else 0.
]]
if redis.call('HEXISTS', KEYS[1], ARGV[1] .. ':row') == 1 then return 0 end
return redis.call('ZREM', KEYS[2], ARGV[1])
