--[[
  Whether a service may be tried. The first call after an outage has ended is its probe.

  KEYS[1]  the service: a hash   ARGV[1]  now, epoch ms   ARGV[2]  ms for which the others wait for a probe

  Returns nil to go ahead, or { until, why }.
]]
local outage = redis.call('HMGET', KEYS[1], 'until', 'why')
if not outage[1] then return nil end
if tonumber(ARGV[1]) < tonumber(outage[1]) then return outage end
redis.call('HSET', KEYS[1], 'until', ARGV[1] + ARGV[2], 'probing', 1)
return nil
