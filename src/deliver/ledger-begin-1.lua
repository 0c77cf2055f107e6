--[[
  `pending` -> `sending` with a new epoch.

  KEYS[1]  the run's rows: a hash
  ARGV[1]  id   ARGV[2]  at, epoch ms   ARGV[3]  days to keep the rows   ARGV[4]  names this one request

  The client repeats a command whose answer it lost. The name lets the repetition find its own `sending` again, and
  nobody else's: without it a broken connection would turn a message that never left into one that may have left.
  Returns the epoch, or nil when the row is in any other state.
]]
local rows, id = KEYS[1], ARGV[1]
local state = redis.call('HGET', rows, id .. ':state')
if state == 'sending' and redis.call('HGET', rows, id .. ':by') == ARGV[4] then
  return tonumber(redis.call('HGET', rows, id .. ':epoch'))
end
if state ~= 'pending' then return nil end
redis.call('HSET', rows, id .. ':state', 'sending', id .. ':detail', '', id .. ':at', ARGV[2], id .. ':by', ARGV[4])
renewExpiry(rows, ARGV[3])
return redis.call('HINCRBY', rows, id .. ':epoch', 1)
