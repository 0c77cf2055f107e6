--[[
  Records the result of an attempt at a service.

  KEYS[1]  the service: a hash
  ARGV[1]  now, epoch ms   ARGV[2]  'success' or 'failure'   ARGV[3]  why
  ARGV[4]  number of failures that open it   ARGV[5]  window in which they count, ms
  ARGV[6]  first duration of an outage, ms   ARGV[7]  its maximum, ms, after doubling with each failed probe
  ARGV[8]  epoch ms at which the service's Retry-After ends, or empty

  Returns { 'opened', until } or { 'closed', since } to the one caller that changed the state, else nil.
]]
local now = tonumber(ARGV[1])
local stored = redis.call('HMGET', KEYS[1], 'until', 'since', 'probing', 'times', 'first', 'failures')
local since, probing, times, first, failures = stored[2], stored[3], stored[4], stored[5], stored[6]
local open = stored[1]
if ARGV[2] == 'success' then
  redis.call('DEL', KEYS[1])
  if open then return { 'closed', since } end
  return nil
end

if ARGV[8] ~= '' then
  local till = math.max(tonumber(ARGV[8]), tonumber(open or 0))
  redis.call('HSET', KEYS[1], 'until', till, 'why', ARGV[3], 'since', since or now, 'times', times or 0, 'failed', now)
  redis.call('HDEL', KEYS[1], 'probing')
  redis.call('PEXPIRE', KEYS[1], till - now + ARGV[7] * 12)
  if not open then return { 'opened', tostring(till) } end
  return nil
end

if not open then
  if not first or now - first > tonumber(ARGV[5]) then
    first, failures = now, 0
  end
  failures = failures + 1
  redis.call('HSET', KEYS[1], 'first', first, 'failures', failures, 'why', ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
  if failures < tonumber(ARGV[4]) then return nil end
  times = 0
  redis.call('HSET', KEYS[1], 'since', now)
elseif not probing then
  -- The attempt began before the circuit opened.
  return nil
end
times = times + 1
local till = now + math.min(ARGV[6] * 2 ^ (times - 1), tonumber(ARGV[7]))
redis.call('HSET', KEYS[1], 'until', till, 'times', times, 'why', ARGV[3], 'failed', now)
redis.call('HDEL', KEYS[1], 'probing')
-- The record of a service that is no longer used expires.
redis.call('PEXPIRE', KEYS[1], ARGV[7] * 12)
if not open then return { 'opened', tostring(till) } end
return nil
