-- Removes pauses, and records that in the history.
--[[
  KEYS[1]  pauses: a hash   KEYS[2]  their history: a list
  ARGV[1]  only the pauses of this run; empty: any   ARGV[2]  who   ARGV[3]  why   ARGV[4…]  fields

  Returns the removed pauses.
]]
-- @include ./append-pause-history.lua
local removed = {}
for i = 4, #ARGV do
  local stored = redis.call('HGET', KEYS[1], ARGV[i])
  local readable, pause = pcall(cjson.decode, stored or '')
  if stored and (ARGV[1] == '' or (readable and pause.run == ARGV[1])) then
    redis.call('HDEL', KEYS[1], ARGV[i])
    removed[#removed + 1] = stored
    if readable then appendHistory('resume', pause.org, pause.report or cjson.null, ARGV[2], ARGV[3]) end
  end
end
return removed
