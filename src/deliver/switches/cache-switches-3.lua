--[[
  Stores the switches as the archive has them, unless a newer version is known.

  KEYS[1]  the newest known version as JSON   KEYS[2]  exists while that is fresh   KEYS[3]  exists while no hold is in force
  ARGV[1]  JSON with `version`   ARGV[2]  ms for which it is fresh   ARGV[3]  1: a hold is in force, else 0
  ARGV[4]  ms for which the absence of a hold is believed

  Without KEYS[3] no script drops an entry of an index (run-index.lua).

  Returns the newest known version as JSON.
]]
local known = redis.call('GET', KEYS[1])
local newest = known and cjson.decode(known).version or -1
if cjson.decode(ARGV[1]).version >= newest then
  redis.call('SET', KEYS[1], ARGV[1])
  if ARGV[3] == '1' then redis.call('DEL', KEYS[3]) else redis.call('SET', KEYS[3], '1', 'PX', ARGV[4]) end
elseif redis.call('EXISTS', KEYS[3]) == 1 then
  redis.call('PEXPIRE', KEYS[3], ARGV[4])
end
redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
return redis.call('GET', KEYS[1])
