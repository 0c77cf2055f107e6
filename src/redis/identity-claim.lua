--[[
  Writes the deployment's id, unless an unexpected id is stored.

  KEYS[1]  the identity: a hash
  ARGV[1]  id   ARGV[2]  '1' if it is restored   ARGV[3]  the id to replace; empty: no readable id may be stored

  Returns all fields of the hash after that.
]]
-- @include ./server-time.lua
local stored = redis.call('HMGET', KEYS[1], 'id', 'since')
local id = stored[1] or ''
if not string.match(id, '^[0-9a-f]+$') or #id ~= 32 or not string.match(stored[2] or '', '^[1-9]%d*$') then id = '' end
if id == ARGV[3] then
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'id', ARGV[1], 'since', string.format('%.0f', serverTimeMs()))
  if ARGV[2] == '1' then redis.call('HSET', KEYS[1], 'restored', '1') end
end
return redis.call('HGETALL', KEYS[1])
