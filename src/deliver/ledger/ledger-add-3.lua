--[[
  Adds a recipient that a person has chosen to a run. The row that it replaces, `pending` or `refused`, becomes `replaced`.

  KEYS[1]  the run's rows: a hash   KEYS[2]  the rows in state `unknown`: a sorted set by time   KEYS[3]  the run's record
  ARGV[1]  id   ARGV[2]  the constant fields as JSON   ARGV[3]  at, epoch ms   ARGV[4]  days to keep the rows
  ARGV[5]  detail   ARGV[6]  the decision, one line of JSON   ARGV[7]  id of this request
  ARGV[8]  prefix of the keys   ARGV[9]  organization   ARGV[10]  recipient   ARGV[11]  the run
  ARGV[12]  id of the replaced row, empty for none   ARGV[13]  its epoch   ARGV[14]  its detail   ARGV[15]  its decision

  The client repeats a command after a lost reply. The request's id lets the repetition recognise its own row.
  Returns 1 if the row was added, 0 if it exists, -1 if the replaced row is in another state or epoch, or if a
  corrected edition replaces the run.
]]
-- @include ./ledger-expiry.lua
-- @include ./recipient-index.lua
local rows, id, old = KEYS[1], ARGV[1], ARGV[12]
if redis.call('HEXISTS', rows, id .. ':row') == 1 then
  return redis.call('HGET', rows, id .. ':by') == ARGV[7] and 1 or 0
end
if redis.call('HEXISTS', rows, 'withdrawn:' .. ARGV[11]) == 1 then return -1 end
if old ~= '' then
  local row = redis.call('HMGET', rows, old .. ':state', old .. ':epoch', old .. ':decisions')
  if (row[1] ~= 'pending' and row[1] ~= 'refused') or row[2] ~= ARGV[13] then return -1 end
  local decisions = row[3] and row[3] ~= '' and row[3] .. '\n' .. ARGV[15] or ARGV[15]
  redis.call('HSET', rows, old .. ':state', 'replaced', old .. ':detail', ARGV[14], old .. ':at', ARGV[3],
    old .. ':by', ARGV[7], old .. ':decisions', decisions)
  redis.call('HINCRBY', rows, old .. ':epoch', 1)
end
local nth = redis.call('HINCRBY', rows, 'count', 1)
redis.call('HINCRBY', rows, 'indexed', 1)
redis.call('HSET', rows, id .. ':row', ARGV[2], id .. ':nth', nth, id .. ':state', 'pending', id .. ':epoch', 0,
  id .. ':detail', ARGV[5], id .. ':at', ARGV[3], id .. ':by', ARGV[7], id .. ':decisions', ARGV[6])
if nth == 1 then redis.call('EXPIRE', rows, tonumber(ARGV[4]) * 86400) else renewExpiry(rows, ARGV[4]) end
local createdAt, ttl = createdAtOf(redis.call('HGET', KEYS[3], 'order'), ARGV[3]), ARGV[4] * 86400000
trimRecipients(ARGV[8], enterRecipient(ARGV[8], ARGV[9], ARGV[10], ARGV[11], createdAt, ARGV[3], ttl), ttl)
return 1
