-- @include ../../../redis/server-time.lua
-- @include ../../../redis/may-forget.lua
-- Drops what is older than `before` (epoch ms) from an index, and renews its expiry. Drops nothing under a legal hold.
local function trim(key, before, ttl)
  if mayForget(key) then redis.call('ZREMRANGEBYSCORE', key, '-inf', '(' .. string.format('%.0f', before)) end
  redis.call('PEXPIRE', key, ttl)
end

-- Keeps a run in the indexes of its state alone (of all runs, of its organization, of its report), so that rare states are
-- found without reading the rest. Entries that outlived their record are dropped from each index that is written.
-- `order` is JSON as stored; `from` is false for a new run. A Cluster permits names that are made here, since all of them
-- bear the one hash tag.
local function moveState(states, order, id, from, to, ttl)
  if from == to then return end
  local run = cjson.decode(order)
  local oldest = serverTimeMs() - ttl
  for _, of in ipairs({ '', run.org, run.org .. '/' .. run.report }) do
    if from then redis.call('ZREM', states .. of .. ':' .. from, id) end
    local key = states .. of .. ':' .. to
    redis.call('ZADD', key, run.createdAt, id)
    trim(key, math.min(run.createdAt, oldest), ttl)
  end
end
