-- @include ../../redis/server-time.lua
-- The index of recipients: for each recipient of an organization the runs with a delivery to it, by creation time. The state
-- of a delivery is read from its row. `prefix` begins every key, with its separator; a Cluster permits names that are made
-- here, since all of them bear its hash tag.

-- Entries that are checked at each write, the oldest first.
local INDEX_TRIM_BATCH = 20

-- Epoch ms at which a run was created, from its stored order; `otherwise` for a run without a readable record.
local function createdAtOf(order, otherwise)
  if not order then return otherwise end
  local readable, run = pcall(cjson.decode, order)
  return readable and type(run) == 'table' and tonumber(run.createdAt) or otherwise
end

-- Rows live longer than `ttl` when they change late or are undecided: an entry is dropped once its rows are gone.
local function trimRuns(prefix, key, before)
  local old = redis.call('ZRANGEBYSCORE', key, '-inf', string.format('(%.0f', before), 'LIMIT', 0, INDEX_TRIM_BATCH)
  for _, run in ipairs(old) do
    if redis.call('EXISTS', prefix .. 'deliveries:{' .. string.sub(run, 1, 16) .. '}') == 0 then
      redis.call('ZREM', key, run)
    end
  end
end

-- `name` is `org/recipient` in lower case; `ttl` is that of the rows, ms. Keys live twice as long as a row without changes.
local function enterRecipient(prefix, name, run, createdAt, at, ttl)
  local key, recipients, now = prefix .. 'to:' .. name, prefix .. 'recipients', serverTimeMs()
  redis.call('ZADD', key, createdAt, run)
  redis.call('PEXPIRE', key, string.format('%.0f', 2 * ttl))
  trimRuns(prefix, key, now - ttl)
  redis.call('ZADD', recipients, 'GT', at, name)
  redis.call('PEXPIRE', recipients, string.format('%.0f', 2 * ttl))
  local old = redis.call('ZRANGEBYSCORE', recipients, '-inf', string.format('(%.0f', now - 2 * ttl), 'LIMIT', 0, INDEX_TRIM_BATCH)
  for _, other in ipairs(old) do
    if redis.call('EXISTS', prefix .. 'to:' .. other) == 0 then redis.call('ZREM', recipients, other) end
  end
end
