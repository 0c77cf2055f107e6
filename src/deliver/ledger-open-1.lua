--[[
  Opens a delivery row as `pending`, or finds the one that is there. A row that this server lost, or knows an earlier
  state of, takes over what the archive says of it (`yieldsTo` in ledger.ts).

  KEYS[1]  the run's rows: a hash   KEYS[2]  the rows that wait for a decision: a sorted set by time
  ARGV[1]  id   ARGV[2]  what never changes, as JSON   ARGV[3]  at, epoch ms   ARGV[4]  days to keep the rows
  ARGV[5]  state   ARGV[6]  epoch   ARGV[7]  detail of the evidence; `pending`, 0 and empty where there is none

  One row is seven fields, `<id>:row state epoch detail at nth decisions`; `nth` is its place in the order of opening.
  Returns { row, state, epoch, detail, at, decisions }, all strings; an empty detail is none.
]]
local rows, id = KEYS[1], ARGV[1]
local state, epoch = ARGV[5], tonumber(ARGV[6])
local takes, has = true, nil
if redis.call('HSETNX', rows, id .. ':row', ARGV[2]) == 1 then
  local nth = redis.call('HINCRBY', rows, 'count', 1)
  redis.call('HSET', rows, id .. ':nth', nth, id .. ':decisions', '')
  if nth == 1 then redis.call('EXPIRE', rows, tonumber(ARGV[4]) * 86400) end
else
  has = redis.call('HGET', rows, id .. ':state')
  local at = tonumber(redis.call('HGET', rows, id .. ':epoch'))
  local ended = state == 'sent' or state == 'refused'
  if has == 'sent' then
    takes = false
  elseif epoch ~= at then
    takes = epoch > at
  else
    takes = (has == 'sending' and (ended or (state == 'pending' and epoch > 0))) or (has == 'unknown' and ended)
  end
end
if takes then
  redis.call('HSET', rows, id .. ':state', state, id .. ':epoch', epoch, id .. ':detail', ARGV[7], id .. ':at', ARGV[3])
  if has == 'unknown' and state ~= 'unknown' then endOfWait(rows, KEYS[2], id, ARGV[4]) end
end
renewExpiry(rows, ARGV[4])
-- Also one that an older version has left to expire.
local now = redis.call('HMGET', rows, id .. ':state', id .. ':at')
if now[1] == 'unknown' then
  waitForDecision(rows, KEYS[2], id, now[2])
else
  redis.call('ZREM', KEYS[2], id)
end
return redis.call('HMGET', rows, id .. ':row', id .. ':state', id .. ':epoch', id .. ':detail', id .. ':at',
  id .. ':decisions')
