-- @include ../../redis/may-forget.lua
-- @include ../../redis/server-time.lua
-- The index of recipients: for each recipient of an organization, the runs with a delivery to it, by creation time. A
-- delivery's state is read from its row. `prefix` begins every key and includes the separator. The script may build key
-- names even on a Cluster, because they all have the same hash tag.

-- How many entries to check at each write, oldest first.
local INDEX_TRIM_BATCH = 20

-- The same as `recipientTerm` of recipient-term.ts: lower case. For a file location, only what precedes the first path
-- part with a digit: a location usually names the period, and would otherwise count as a new recipient each time.
local function recipientTerm(recipient)
  local text = string.lower(recipient)
  local start, path = string.match(text, '^(%a[%w+.-]*://[^/]*)(.*)$')
  if not start then
    if not string.find(text, '/', 1, true) then return text end
    start, path = string.match(text, '^([^/]*)(.*)$')
  end
  local kept = start
  for part in string.gmatch(path, '/[^/]*') do
    if string.find(part, '%d') then break end
    kept = kept .. part
  end
  local trimmed = string.match(kept, '^(.-)/*$')
  return trimmed == '' and text or trimmed
end

-- Epoch ms at which a run was created, from its stored order; `otherwise` if the run has no readable record.
local function createdAtOf(order, otherwise)
  if not order then return otherwise end
  local readable, run = pcall(cjson.decode, order)
  return readable and type(run) == 'table' and tonumber(run.createdAt) or otherwise
end

-- `ttl`: how long rows are kept, ms. These keys live twice as long as an unchanged row.
local function enterRecipient(prefix, org, recipient, run, createdAt, at, ttl)
  local name = org .. '/' .. recipientTerm(recipient)
  redis.call('ZADD', prefix .. 'to:' .. name, createdAt, run)
  redis.call('PEXPIRE', prefix .. 'to:' .. name, string.format('%.0f', 2 * ttl))
  redis.call('ZADD', prefix .. 'recipients', 'GT', at, name)
  return name
end

-- Drops some entries whose row is gone, and recipients without entries. Rows that change late or are undecided outlive
-- `ttl`. Call it after `enterRecipient`.
local function trimRecipients(prefix, name, ttl)
  local key, recipients, now = prefix .. 'to:' .. name, prefix .. 'recipients', serverTimeMs()
  redis.call('PEXPIRE', recipients, string.format('%.0f', 2 * ttl))
  if not mayForget(prefix) then return end
  local runs = redis.call('ZRANGEBYSCORE', key, '-inf', string.format('(%.0f', now - ttl), 'LIMIT', 0, INDEX_TRIM_BATCH)
  for _, run in ipairs(runs) do
    if redis.call('EXISTS', prefix .. 'deliveries:{' .. string.sub(run, 1, 16) .. '}') == 0 then
      redis.call('ZREM', key, run)
    end
  end
  local before = string.format('(%.0f', now - 2 * ttl)
  for _, other in ipairs(redis.call('ZRANGEBYSCORE', recipients, '-inf', before, 'LIMIT', 0, INDEX_TRIM_BATCH)) do
    if redis.call('EXISTS', prefix .. 'to:' .. other) == 0 then redis.call('ZREM', recipients, other) end
  end
end
