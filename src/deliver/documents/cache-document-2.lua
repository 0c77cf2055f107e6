--[[
  Stores a document that was read from the archive, unless a newer version is known.

  KEYS[1]  the newest known version as JSON   KEYS[2]  its version, while that is fresh
  ARGV[1]  JSON with `version`   ARGV[2]  its version   ARGV[3]  ms for which it is fresh
  ARGV[4]  a marker with the hash tag of the keys, empty for none   ARGV[5]  1: the document sets it, else 0
  ARGV[6]  ms for which the marker is valid

  Returns the newest known version as JSON if it is newer than this one, else nil.
]]
local known = redis.call('GET', KEYS[1])
-- The version comes first, so that a long document need not be parsed.
local newest = known and (tonumber(string.match(known, '^{"version":(%d+)')) or cjson.decode(known).version) or -1
local version, isOlder = tonumber(ARGV[2]), false
if version >= newest then
  redis.call('SET', KEYS[1], ARGV[1])
  if ARGV[4] ~= '' then
    if ARGV[5] == '1' then redis.call('SET', ARGV[4], '1', 'PX', ARGV[6]) else redis.call('DEL', ARGV[4]) end
  end
else
  version, isOlder = newest, true
  if ARGV[4] ~= '' and redis.call('EXISTS', ARGV[4]) == 1 then redis.call('PEXPIRE', ARGV[4], ARGV[6]) end
end
redis.call('SET', KEYS[2], string.format('%.0f', version), 'PX', ARGV[3])
if isOlder then return known end
return nil
