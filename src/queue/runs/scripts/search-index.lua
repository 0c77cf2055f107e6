-- @include ./run-index.lua
-- The value of a record's field `indexed`, as JSON like the other fields: first day and report, which filters read instead of
-- the whole order.
local function indexMark(run)
  local day = type(run.period) == 'table' and run.period.from
  return string.format('"%s %s/%s"', type(day) == 'string' and day or '-', run.org, run.report)
end

-- Enters a run into the indexes by the first day of its period (of all runs, of its organization), and its report into the
-- set of reports with runs. `run` is the decoded order. `prefix` begins every key and includes the separator. `ttl` in ms.
local function enterRun(prefix, run, id, ttl)
  local oldest = serverTimeMs() - ttl
  local report = prefix .. 'reports'
  redis.call('ZADD', report, 'GT', run.createdAt, run.org .. '/' .. run.report)
  trim(report, math.min(run.createdAt, oldest), ttl)
  local day = type(run.period) == 'table' and run.period.from
  local year, month, date = string.match(type(day) == 'string' and day or '', '^(%d%d%d%d)-(%d%d)-(%d%d)$')
  if not year then return end
  for _, of in ipairs({ '', run.org }) do
    local key = prefix .. 'begins:' .. of .. ':' .. day
    redis.call('ZADD', key, run.createdAt, id)
    trim(key, math.min(run.createdAt, oldest), ttl)
  end
  redis.call('ZADD', prefix .. 'first-days', year .. month .. date, day)
  redis.call('PEXPIRE', prefix .. 'first-days', ttl)
end
