--[[
  Opens a delivery row as `pending`, or finds the existing one. A row that this server has lost, or has in an earlier
  state, takes over the archived state (`isSupersededBy` in ledger.ts). If a corrected edition replaces the run,
  a row that would be `pending` or `refused` becomes `withdrawn`.

  KEYS[1]  the run's rows: a hash   KEYS[2]  the rows in state `unknown`: a sorted set by time
  ARGV[1]  id   ARGV[2]  the constant fields as JSON   ARGV[3]  at, epoch ms   ARGV[4]  days to keep the rows
  ARGV[5]  state   ARGV[6]  epoch   ARGV[7]  detail in the archive; `pending`, 0 and empty without an archived state
  KEYS[3]  the run's record   ARGV[8]  prefix of the keys   ARGV[9]  organization
  ARGV[10]  recipient   ARGV[11]  the run

  Also enters the run into the index of recipients. `count` is the number of rows, and `indexed` the number of rows in
  the index. Older versions only increase `count`; the repair of the index finds the difference.

  A row has seven fields, `<id>:row state epoch detail at nth decisions`; `nth` is its place in the order of opening.
  Returns { row, state, epoch, detail, at, decisions }, all strings; an empty detail means none.
]]
-- @include ./ledger-expiry.lua
-- @include ./ledger-withdrawn.lua
-- @include ./recipient-index.lua
local rows, id = KEYS[1], ARGV[1]
local state, epoch = ARGV[5], tonumber(ARGV[6])
local takes, previous = true, nil
if redis.call('HSETNX', rows, id .. ':row', ARGV[2]) == 1 then
  local nth = redis.call('HINCRBY', rows, 'count', 1)
  redis.call('HSET', rows, id .. ':nth', nth, id .. ':decisions', '')
  redis.call('HINCRBY', rows, 'indexed', 1)
  if nth == 1 then redis.call('EXPIRE', rows, tonumber(ARGV[4]) * 86400) end
else
  previous = redis.call('HGET', rows, id .. ':state')
  local previousEpoch = tonumber(redis.call('HGET', rows, id .. ':epoch'))
  local isFinal = state == 'sent' or state == 'refused'
  if previous == 'sent' or previous == 'replaced' or previous == 'withdrawn' or previous == 'skipped' then
    takes = false
  elseif epoch ~= previousEpoch then
    takes = epoch > previousEpoch
  else
    takes = (previous == 'sending' and (isFinal or (state == 'pending' and epoch > 0)))
      or (previous == 'unknown' and isFinal)
  end
end
if takes then
  redis.call('HSET', rows, id .. ':state', state, id .. ':epoch', epoch, id .. ':detail', ARGV[7], id .. ':at', ARGV[3])
  if previous == 'unknown' and state ~= 'unknown' then removeUnknown(rows, KEYS[2], id, ARGV[4]) end
end
withdrawIfReplaced(rows, id, ARGV[3])
renewExpiry(rows, ARGV[4])
-- Covers rows that an older version left to expire, too.
local now = redis.call('HMGET', rows, id .. ':state', id .. ':at')
if now[1] == 'unknown' then
  addUnknown(rows, KEYS[2], id, now[2])
else
  redis.call('ZREM', KEYS[2], id)
end
local createdAt, ttl = createdAtOf(redis.call('HGET', KEYS[3], 'order'), ARGV[3]), ARGV[4] * 86400000
trimRecipients(ARGV[8], enterRecipient(ARGV[8], ARGV[9], ARGV[10], ARGV[11], createdAt, ARGV[3], ttl), ttl)
return redis.call('HMGET', rows, id .. ':row', id .. ':state', id .. ':epoch', id .. ':detail', id .. ':at',
  id .. ':decisions')
