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

local function isMatch(order, failure, state)
  if wanted.states and not wanted.states[state] then return false end
  if wanted.error then
    if not failure or failure == 'null' then return false end
    local readable, stored = pcall(cjson.decode, failure)
    if not readable or type(stored) ~= 'table' or type(stored.code) ~= 'string' then return false end
    if not string.find(string.lower(stored.code), wanted.error, 1, true) then return false end
  end
  if not needsOrder then return true end
  local readable, run = pcall(cjson.decode, order)
  if not readable or type(run) ~= 'table' then return false end
  if wanted.reports and not wanted.reports[tostring(run.org) .. '/' .. tostring(run.report)] then return false end
  if not wanted.from then return true end
  local day = type(run.period) == 'table' and run.period.from
  return type(day) == 'string' and day >= wanted.from and day <= wanted.to
end

local matching = {}
for i = 3, #ARGV do
  local stored = redis.call('HMGET', ARGV[1] .. ARGV[i], 'order', 'error', 'state')
  if stored[1] and isMatch(stored[1], stored[2], stored[3]) then matching[#matching + 1] = ARGV[i] end
end
return matching
