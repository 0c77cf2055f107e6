--[[
  Opens a delivery row as `pending`, or finds the one that is there.

  KEYS[1]  the run's rows: a hash
  ARGV[1]  id   ARGV[2]  what never changes, as JSON   ARGV[3]  at, epoch ms   ARGV[4]  days to keep the rows

  One row is six fields, `<id>:row state epoch detail at nth`; `nth` is its place in the order of opening.
  Returns { row, state, epoch, detail, at }, all strings; an empty detail is none.
]]
local rows, id = KEYS[1], ARGV[1]
if redis.call('HSETNX', rows, id .. ':row', ARGV[2]) == 1 then
  local nth = redis.call('HINCRBY', rows, 'count', 1)
  redis.call('HSET', rows, id .. ':state', 'pending', id .. ':epoch', 0, id .. ':detail', '',
    id .. ':at', ARGV[3], id .. ':nth', nth)
end
redis.call('EXPIRE', rows, tonumber(ARGV[4]) * 86400)
return redis.call('HMGET', rows, id .. ':row', id .. ':state', id .. ':epoch', id .. ':detail', id .. ':at')
