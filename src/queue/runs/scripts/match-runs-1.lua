--[[
  Which of these runs match a filter that no single index answers.

  KEYS[1]  the index of all runs: names the node of a Cluster
  ARGV[1]  prefix of the records   ARGV[2]  the conditions as JSON: { reports: { "org/report": true }, states: { state: true }, error,
  from, to }, each optional: a part of an error code in lower case; first and last day (YYYY-MM-DD) on which the period begins
  ARGV[3…]  ids of runs

  Returns the ids that match, in their order.
]]
local wanted = cjson.decode(ARGV[2])
local needsOrder = wanted.reports or wanted.from

-- Organization, report and first day of an order. Its JSON is read without decoding, which takes ten times as long; no text
-- within it can look like these members, because its quotation marks are escaped.
local function fieldsOf(order)
  local org, report = string.match(order, '"org":"([^"\\]*)"'), string.match(order, '"report":"([^"\\]*)"')
  local day = string.match(order, '"period":{"from":"([%d-]*)"')
  if org and report and day then return org, report, day end
  local readable, run = pcall(cjson.decode, order)
  if not readable or type(run) ~= 'table' then return nil end
  return tostring(run.org), tostring(run.report), type(run.period) == 'table' and run.period.from
end

local function isMatch(order, failure, state)
  if wanted.states and not wanted.states[state] then return false end
  if wanted.error then
    if not failure or failure == 'null' then return false end
    local readable, stored = pcall(cjson.decode, failure)
    if not readable or type(stored) ~= 'table' or type(stored.code) ~= 'string' then return false end
    if not string.find(string.lower(stored.code), wanted.error, 1, true) then return false end
  end
  if not needsOrder then return true end
  local org, report, day = fieldsOf(order)
  if not org then return false end
  if wanted.reports and not wanted.reports[org .. '/' .. report] then return false end
  if not wanted.from then return true end
  return type(day) == 'string' and day >= wanted.from and day <= wanted.to
end

local matching = {}
for i = 3, #ARGV do
  local stored = redis.call('HMGET', ARGV[1] .. ARGV[i], 'order', 'error', 'state')
  if stored[1] and isMatch(stored[1], stored[2], stored[3]) then matching[#matching + 1] = ARGV[i] end
end
return matching
