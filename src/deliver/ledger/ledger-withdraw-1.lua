--[[
  Withdraws a run's deliveries because a corrected edition replaces it: `pending` and `refused` become `withdrawn`.
  `sending` stays until its result is known, and cannot begin again. Idempotent: the first decision wins.

  KEYS[1]  the run's rows: a hash
  ARGV[1]  the run   ARGV[2]  the decision, one line of JSON   ARGV[3]  detail   ARGV[4]  at, epoch ms
  ARGV[5]  days to keep the rows
]]
-- @include ./ledger-expiry.lua
-- @include ./ledger-withdrawn.lua
local rows = KEYS[1]
if redis.call('HSETNX', rows, 'withdrawn:' .. ARGV[1], ARGV[2] .. '\n' .. ARGV[3]) == 1 and redis.call('HLEN', rows) == 1 then
  redis.call('EXPIRE', rows, tonumber(ARGV[5]) * 86400)
end
for _, field in ipairs(redis.call('HKEYS', rows)) do
  local id = string.match(field, '^(.*):row$')
  if id then withdrawIfReplaced(rows, id, ARGV[4]) end
end
renewExpiry(rows, ARGV[5])
return redis.status_reply('OK')
