--[[
  Shortens lifetimes that are longer than BullMQ ever sets. Redis keeps the instant at which a key ends: when its clock is
  set back, locks of workers that died, and the mark of the last check for stalled jobs, last longer by that step.

  KEYS[1]  the prefix of the queue's keys, its last ":" included
  ARGV[1]  ms that no lock lasts   ARGV[2]  ms that such a lock lasts from now on: a live worker renews it in time

  Returns how many were shortened.
]]
local shortened = 0
local function shorten(key)
  if redis.call('PTTL', key) <= tonumber(ARGV[1]) then return end
  redis.call('PEXPIRE', key, ARGV[2])
  shortened = shortened + 1
end
shorten(KEYS[1] .. 'stalled-check')
for _, id in ipairs(redis.call('LRANGE', KEYS[1] .. 'active', 0, -1)) do shorten(KEYS[1] .. id .. ':lock') end
return shortened
