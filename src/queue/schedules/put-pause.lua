-- Stores a pause, and records it in the history.
--[[
  KEYS[1]  pauses: a hash   KEYS[2]  their history: a list
  ARGV[1]  field   ARGV[2]  fingerprint of the rejected API key; empty for a person's pause   ARGV[3]  the pause as JSON

  Returns the stored pause: the existing one if a person set it or it is for the same key, otherwise the new one.
]]
-- @include ./append-pause-history.lua
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local readable, pause = pcall(cjson.decode, stored or '')
if readable and (ARGV[2] == '' or pause.key == ARGV[2]) then return stored end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
pause = cjson.decode(ARGV[3])
appendHistory('pause', pause.org, pause.report, pause.who, pause.why)
return ARGV[3]
