-- Whether no worker will process the job: its hash is gone, it has ended, or it is in none of BullMQ's lists and sets,
-- e.g. after the loss of some keys. A locked job is not orphaned: a worker processes it, and if that worker stops, the
-- lock expires. BullMQ moves jobs by scripts, so a job is never seen between two lists.
local function isOrphaned(prefix, id)
  local job = prefix .. id
  if redis.call('EXISTS', job .. ':lock') == 1 then return false end
  local fields = redis.call('HMGET', job, 'name', 'finishedOn')
  if not fields[1] or fields[2] then return true end
  for _, set in ipairs({ 'prioritized', 'delayed', 'waiting-children' }) do
    if redis.call('ZSCORE', prefix .. set, id) then return false end
  end
  for _, list in ipairs({ 'active', 'wait', 'paused' }) do
    if redis.call('LPOS', prefix .. list, id) then return false end
  end
  return true
end
