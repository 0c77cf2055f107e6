--[[
  Whether a service may be tried.

  KEYS[1]  the service: a hash   ARGV[1]  now, epoch ms   ARGV[2]  ms for which a probe keeps the others waiting

  Returns nil to go ahead, or { until, why }.
]]
local held = redis.call('HMGET', KEYS[1], 'until', 'why')
if not held[1] then return nil end
if tonumber(ARGV[1]) < tonumber(held[1]) then return held end
redis.call('HSET', KEYS[1], 'until', ARGV[1] + ARGV[2], 'probing', 1)
return nil
