--[[
  Writes the record of a new run and enters it into the indexes.

  KEYS[1]  the record: a hash   KEYS[2]  ids of all runs   KEYS[3]  the definition of the run   KEYS[4]  organizations
  KEYS[5…]  indexes by time: of all runs, of the organization, of the report; unfinished runs unless the run has ended
  ARGV[1]  id   ARGV[2]  epoch ms of creation   ARGV[3]  ttl, ms   ARGV[4]  prefix of the indexes by state
  ARGV[5]  organization   ARGV[6]  prefix of the other indexes, with its separator
  ARGV[7]  the definition as text, stored or renewed whether or not the run is new; empty: already stored
  ARGV[8…]  fields and values of the record

  The record's field `indexed` shows that this version has entered the run into the search indexes. Runs of older versions
  lack it, and the repair of these indexes (`index-runs-1.lua`) enters them.

  Returns { 1, fields } for a new record, or { 0, fields } with the fields of the existing one.
]]
-- @include ./run-index.lua
-- @include ./search-index.lua

-- Clocks of two processes may differ by this much.
local MAX_CLOCK_SKEW_MS = 300000

-- The first write: a full server refuses it, and with it the whole script. So no record exists without its definition.
if ARGV[7] ~= '' then redis.call('SET', KEYS[3], ARGV[7], 'PX', ARGV[3]) end

local existing = redis.call('HGETALL', KEYS[1])
local skippedTooEarly = false
if #existing > 0 then
  -- A slot that was skipped by a clock far ahead of this one was not due then, so the skip does not count.
  local stored = redis.call('HMGET', KEYS[1], 'state', 'order')
  skippedTooEarly = stored[1] == 'skipped' and cjson.decode(stored[2]).createdAt > ARGV[2] + MAX_CLOCK_SKEW_MS
  if not skippedTooEarly then return { 0, existing } end
  redis.call('DEL', KEYS[1])
end
local fields = {}
for i = 8, #ARGV do fields[#fields + 1] = ARGV[i] end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PEXPIRE', KEYS[1], ARGV[3])

-- At most the server's time: a client whose clock is ahead must not drop the entries of other runs.
local oldest = math.min(tonumber(ARGV[2]), serverTimeMs()) - ARGV[3]
-- The index of ids exists only while it is used. It drops the same entries as the index by time in the same step,
-- because `run-ids.ts` compares their sizes.
if redis.call('EXISTS', KEYS[2]) == 1 then
  local expired = mayForget(KEYS[5])
    and redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', '(' .. string.format('%.0f', oldest)) or {}
  for _, id in ipairs(expired) do redis.call('ZREM', KEYS[2], id) end
  redis.call('ZADD', KEYS[2], 0, ARGV[1])
end
for i = 4, #KEYS do
  redis.call('ZADD', KEYS[i], ARGV[2], i == 4 and ARGV[5] or ARGV[1])
  trim(KEYS[i], oldest, ARGV[3])
end
local stored = redis.call('HMGET', KEYS[1], 'order', 'state')
local order = cjson.decode(stored[1])
enterRun(ARGV[6], order, ARGV[1], tonumber(ARGV[3]))
redis.call('HSET', KEYS[1], 'indexed', indexMark(order))
moveState(ARGV[4], stored[1], ARGV[1], skippedTooEarly and 'skipped' or false, stored[2], tonumber(ARGV[3]))
return { 1, fields }
