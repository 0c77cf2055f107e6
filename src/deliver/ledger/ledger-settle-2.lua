--[[
  Records a result: `sending` with this epoch -> ARGV[3]; `unknown` with this epoch -> `sent` or `refused`. Idempotent.
  If a corrected edition replaces the run, an undelivered row becomes `withdrawn` instead.

  KEYS[1]  the run's rows: a hash   KEYS[2]  the rows in state `unknown`: a sorted set by time
  ARGV[1]  id   ARGV[2]  epoch   ARGV[3]  the new state   ARGV[4]  detail, empty for none   ARGV[5]  at, epoch ms
  ARGV[6]  days to keep the rows

  Returns 1 if the row is in the new state, 0 if this writer is refused.
]]
-- @include ./ledger-expiry.lua
-- @include ./ledger-withdrawn.lua
local rows, id, to = KEYS[1], ARGV[1], ARGV[3]
local row = redis.call('HMGET', rows, id .. ':state', id .. ':epoch')
local state, epoch = row[1], row[2]
if not state or epoch ~= ARGV[2] then return 0 end
if state == to then return 1 end
local isLateResult = state == 'unknown' and (to == 'sent' or to == 'refused')
if state ~= 'sending' and not isLateResult then return 0 end
redis.call('HSET', rows, id .. ':state', to, id .. ':detail', ARGV[4], id .. ':at', ARGV[5])
if to == 'unknown' then
  addUnknown(rows, KEYS[2], id, ARGV[5])
elseif state == 'unknown' then
  removeUnknown(rows, KEYS[2], id, ARGV[6])
else
  redis.call('ZREM', KEYS[2], id)
  renewExpiry(rows, ARGV[6])
end
withdrawIfReplaced(rows, id, ARGV[5])
return 1
