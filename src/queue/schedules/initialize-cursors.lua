--[[
  Sets cursors that are missing or unreadable.

  KEYS[1]  cursors: a hash   ARGV[1]  epoch ms   ARGV[2…]  names

  Returns the names of the unreadable ones.
]]
local unreadable = {}
for i = 2, #ARGV do
  local value = redis.call('HGET', KEYS[1], ARGV[i])
  local readable = value and #value <= 15 and string.find(value, '^%d+$')
  if not readable then redis.call('HSET', KEYS[1], ARGV[i], ARGV[1]) end
  if value and not readable then unreadable[#unreadable + 1] = ARGV[i] end
end
return unreadable
