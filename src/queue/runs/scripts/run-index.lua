-- @include ../../../redis/server-time.lua
-- @include ../../../redis/may-forget.lua
-- Drops entries older than `before` (epoch ms) from an index, and renews its expiry. Drops nothing under a legal hold.
local function trim(key, before, ttl)
  if mayForget(key) then redis.call('ZREMRANGEBYSCORE', key, '-inf', '(' .. string.format('%.0f', before)) end
  redis.call('PEXPIRE', key, ttl)
end

-- Moves a run from the indexes of its old state to those of its new one (of all runs, of its organization, of its report),
-- so that runs in rare states are found without reading the rest. Each index that is written also drops entries that
-- outlived their record. `order` is JSON as stored; `from` is false for a new run. The script may build key names even on a
-- Cluster, because they all have the same hash tag.
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
