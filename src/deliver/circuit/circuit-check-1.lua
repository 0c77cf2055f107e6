--[[
  Whether a service may be used. The first call after an outage is its probe, and so is a call that a person has
  requested since the last failure.

  KEYS[1]  the service: a hash   ARGV[1]  now, epoch ms   ARGV[2]  ms for which other calls wait for a probe
  ARGV[3]  when a person requested it, epoch ms, or empty

  Returns nil to go ahead, or { until, why }.
]]
local stored = redis.call('HMGET', KEYS[1], 'until', 'why', 'failed')
if not stored[1] then return nil end
-- Version 0.2.0 writes no 'failed'.
local isAsked = ARGV[3] ~= '' and tonumber(ARGV[3]) > tonumber(stored[3] or 0)
if not isAsked and tonumber(ARGV[1]) < tonumber(stored[1]) then return { stored[1], stored[2] } end
redis.call('HSET', KEYS[1], 'until', ARGV[1] + ARGV[2], 'probing', 1)
return nil
