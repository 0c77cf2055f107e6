--[[
  Sets a run that has ended back to `queued`.

  KEYS[1]  the record: a hash   KEYS[2]  unfinished runs   KEYS[3]  requested cancellations
  ARGV[1]  id   ARGV[2]  ttl, ms   ARGV[3]  prefix of the indexes by state   ARGV[4]  the decision as JSON
  ARGV[5…]  states from which the run may be reopened

  A decision contains its time and author. A client that repeats the command finds its own decision, and changes nothing.

  Returns 1 if the run was reopened, else 0.
]]
-- @include ./run-index.lua
-- @include ./append-decision.lua
local stored = redis.call('HMGET', KEYS[1], 'state', 'reopened', 'order')
local state, reopened = stored[1], stored[2] or '[]'
if not state then return 0 end
if string.sub(reopened, -#ARGV[4] - 1, -2) == ARGV[4] then return 1 end
local allowed = false
for i = 5, #ARGV do allowed = allowed or ARGV[i] == state end
if not allowed then return 0 end
redis.call('HSET', KEYS[1], 'state', 'queued', 'startedAt', 'null', 'finishedAt', 'null', 'until', 'null',
  'error', 'null', 'cancel', 'null', 'reopened', appendDecision(reopened, ARGV[4]))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
moveState(ARGV[3], stored[3], ARGV[1], state, 'queued', tonumber(ARGV[2]))
redis.call('ZADD', KEYS[2], cjson.decode(stored[3]).createdAt, ARGV[1])
redis.call('SREM', KEYS[3], ARGV[1])
return 1
