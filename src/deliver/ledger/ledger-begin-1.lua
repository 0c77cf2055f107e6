--[[
  Begins an attempt: sets a `pending` row to `sending` with a new epoch.

  KEYS[1]  the run's rows: a hash
  ARGV[1]  id   ARGV[2]  at, epoch ms   ARGV[3]  days to keep the rows   ARGV[4]  id of this request

  The client repeats a command after a lost reply. The request's id lets the repetition recognise its own `sending`:
  otherwise a broken connection would turn an unsent message into an `unknown` one.
  Returns the epoch, or nil when the row is in any other state.
]]
-- @include ./ledger-expiry.lua
local rows, id = KEYS[1], ARGV[1]
local state = redis.call('HGET', rows, id .. ':state')
if state == 'sending' and redis.call('HGET', rows, id .. ':by') == ARGV[4] then
  return tonumber(redis.call('HGET', rows, id .. ':epoch'))
end
if state ~= 'pending' then return nil end
redis.call('HSET', rows, id .. ':state', 'sending', id .. ':detail', '', id .. ':at', ARGV[2], id .. ':by', ARGV[4])
renewExpiry(rows, ARGV[3])
return redis.call('HINCRBY', rows, id .. ':epoch', 1)
