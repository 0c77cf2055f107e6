--[[
  Finds those of these runs that match a filter that no single index can answer.

  KEYS[1]  the index of all runs; selects the node of a Cluster   ARGV[1]  prefix of the records
  ARGV[2]  the conditions as JSON, each optional: reports: { "org/report": true }; states: { state: true }; error: part of
  an error code in lower case; from, to: first and last day (YYYY-MM-DD) on which the period may begin; in: names of sorted
  sets of runs, one of which must contain the run
  ARGV[3…]  ids of runs

  Returns the matching ids, in the given order.
]]
local wanted = cjson.decode(ARGV[2])
local needsOrder = wanted.reports or wanted.from

-- First day and `org/report` of a run, from the mark beside its order if its version wrote one, otherwise from the
-- order.
local function fieldsOf(key, noted)
  local day, report = string.match(noted or '', '^"(%S+) ([^"]+)"$')
  if day then return day, report end
  local readable, run = pcall(cjson.decode, redis.call('HGET', key, 'order') or '')
  if not readable or type(run) ~= 'table' or type(run.period) ~= 'table' then return nil end
  return tostring(run.period.from), tostring(run.org) .. '/' .. tostring(run.report)
end

local function hasError(key)
  local readable, failure = pcall(cjson.decode, redis.call('HGET', key, 'error') or 'null')
  return readable and type(failure) == 'table' and type(failure.code) == 'string'
    and string.find(string.lower(failure.code), wanted.error, 1, true) ~= nil
end

local function isInOne(id)
  for _, index in ipairs(wanted['in']) do
    if redis.call('ZSCORE', index, id) then return true end
  end
  return false
end

local function isMatch(key, id)
  if wanted['in'] and not isInOne(id) then return false end
  local stored = redis.call('HMGET', key, 'state', 'indexed')
  if not stored[1] or (wanted.states and not wanted.states[stored[1]]) then return false end
  if needsOrder then
    local day, report = fieldsOf(key, stored[2])
    if not day or (wanted.reports and not wanted.reports[report]) then return false end
    if wanted.from and (day < wanted.from or day > wanted.to) then return false end
  end
  return not wanted.error or hasError(key)
end

local matching = {}
for i = 3, #ARGV do
  if isMatch(ARGV[1] .. ARGV[i], ARGV[i]) then matching[#matching + 1] = ARGV[i] end
end
return matching
