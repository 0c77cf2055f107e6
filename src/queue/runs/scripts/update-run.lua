--[[
  Changes fields of a run's record.

  KEYS[1]  the record: a hash   KEYS[2]  unfinished runs   KEYS[3]  requested cancellations
  ARGV[1]  id   ARGV[2]  ttl, ms   ARGV[3]  prefix of the indexes by state   ARGV[4]  the new state; empty: unchanged
  ARGV[5…]  fields and values

  A run that has ended keeps its state: a worker that has lost its lock without noticing must neither reopen it nor end it in
  another state. A run whose cancellation was requested can only end.

  Returns 'written', or changes nothing and returns 'missing', 'ended' or the cancellation as JSON.
]]
-- @include ./run-index.lua
-- @include ./terminal-states.lua
local stored = redis.call('HMGET', KEYS[1], 'state', 'order', 'cancel')
local state, to = stored[1], ARGV[4]
if not state then return 'missing' end
if to ~= '' and TERMINAL[state] then return 'ended' end
if to ~= '' and not TERMINAL[to] and stored[3] and stored[3] ~= 'null' then return stored[3] end
local fields = {}
for i = 5, #ARGV do fields[#fields + 1] = ARGV[i] end
if #fields > 0 then redis.call('HSET', KEYS[1], unpack(fields)) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if to ~= '' then moveState(ARGV[3], stored[2], ARGV[1], state, to, tonumber(ARGV[2])) end
if TERMINAL[to] then
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('SREM', KEYS[3], ARGV[1])
end
return 'written'
