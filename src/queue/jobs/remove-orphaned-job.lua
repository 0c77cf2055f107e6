--[[
  Removes the remains of a job that no worker will process.

  KEYS[1]  prefix of the queue's keys   ARGV[1]  id of the job

  Returns 1, or 0 if the job is live.
]]
-- @include ./is-orphaned.lua
local prefix, id = KEYS[1], ARGV[1]
if not isOrphaned(prefix, id) then return 0 end
-- An id without a hash may be in several of them, and each would start the run once.
for _, set in ipairs({ 'prioritized', 'delayed', 'waiting-children', 'completed', 'failed' }) do
  redis.call('ZREM', prefix .. set, id)
end
for _, list in ipairs({ 'active', 'wait', 'paused' }) do redis.call('LREM', prefix .. list, 0, id) end
redis.call('SREM', prefix .. 'stalled', id)
for _, part in ipairs({ '', ':logs', ':dependencies', ':processed', ':failed', ':unsuccessful' }) do
  redis.call('DEL', prefix .. id .. part)
end
return 1
