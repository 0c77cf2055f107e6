--[[
  Carries out a decision: `unknown` -> `sent`; `unknown`, `refused` and `skipped` -> `pending` with a new epoch;
  `pending` -> `skipped`.

  KEYS[1]  the run's rows: a hash   KEYS[2]  the rows in state `unknown`: a sorted set by time
  ARGV[1]  id   ARGV[2]  the epoch that the decision is about   ARGV[3]  the new state   ARGV[4]  detail
  ARGV[5]  at, epoch ms   ARGV[6]  days to keep the rows   ARGV[7]  the decision, one line of JSON
  ARGV[8]  id of this request

  The client repeats a command after a lost reply. The request's id lets the repetition recognise its own decision.
  Returns 1 if carried out; 0 if the row has another state or epoch, or may not be sent again because it was replaced.
]]
-- @include ./ledger-expiry.lua
-- @include ./ledger-withdrawn.lua
local rows, id, to = KEYS[1], ARGV[1], ARGV[3]
local row = redis.call('HMGET', rows, id .. ':state', id .. ':epoch', id .. ':by', id .. ':decisions')
local state, epoch, by, decisions = row[1], row[2], row[3], row[4]
if not state then return 0 end
if by == ARGV[8] then return 1 end
local open
if to == 'skipped' then open = state == 'pending'
elseif to == 'pending' then open = state == 'unknown' or state == 'refused' or state == 'skipped'
else open = state == 'unknown' end
if not open or epoch ~= ARGV[2] then return 0 end
if to == 'pending' and withdrawalOf(rows, id) then return 0 end
if decisions and decisions ~= '' then decisions = decisions .. '\n' .. ARGV[7] else decisions = ARGV[7] end
redis.call('HSET', rows, id .. ':state', to, id .. ':detail', ARGV[4], id .. ':at', ARGV[5], id .. ':by', ARGV[8],
  id .. ':decisions', decisions)
if to == 'pending' then redis.call('HINCRBY', rows, id .. ':epoch', 1) end
if state == 'unknown' then removeUnknown(rows, KEYS[2], id, ARGV[6]) else renewExpiry(rows, ARGV[6]) end
return 1
