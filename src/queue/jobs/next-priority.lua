--[[
  Assigns a run the next round of its queue (fair-priority.ts).

  KEYS[1]  rounds: a hash   KEYS[2]  BullMQ's prioritized jobs: a sorted set   KEYS[3]  the run's job
  ARGV[1]  `<organization>:<priority>`   ARGV[2]  offset of the priority's rounds   ARGV[3]  rounds from one run of the queue to the next
  ARGV[4]  index of the priority   ARGV[5]  the last round   ARGV[6…]  offsets of all priorities, in order

  The hash holds `round`, the current round, `at`, epoch ms of the last assignment, and the next round of each queue.

  Returns the priority for BullMQ, or 0 if the run already has a job.
]]
-- @include ../../redis/server-time.lua

-- Time from the assignment until the job appears in BullMQ's set, ms.
local ENQUEUE_GRACE_MS = 500
-- How many jobs to search for one that has not started. Jobs behind them will not start soon.
local MAX_SEARCHED = 50
local ROUNDS_TTL_MS = 604800000

if redis.call('EXISTS', KEYS[3]) == 1 then return 0 end
local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local now = serverTimeMs()
-- No job waits, so rounds start again, unless a run was assigned its round and is not in the set yet.
if #first == 0 and now - tonumber(redis.call('HGET', KEYS[1], 'at') or 0) > ENQUEUE_GRACE_MS then
  redis.call('DEL', KEYS[1])
end
local count = #ARGV - 5
local served = tonumber(redis.call('HGET', KEYS[1], 'round') or 1)
-- The round of the first job that has not started; 0 if all have.
local function roundOf(jobs)
  for i = 2, #jobs, 2 do
    -- BullMQ's score is the priority times 2^32, plus a counter.
    local number = math.floor(jobs[i] / 0x100000000) - 1
    local round = math.floor(number / count) - ARGV[6 + number % count]
    if round > 0 then return round end
  end
  return 0
end
local round = roundOf(first)
-- Usually the very first job has not started. The others are read only if it has.
if #first > 0 and round == 0 then
  round = roundOf(redis.call('ZRANGE', KEYS[2], 1, MAX_SEARCHED - 1, 'WITHSCORES'))
end
served = math.max(served, round)
local assigned = math.min(math.max(served, tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 1)), tonumber(ARGV[5]))
redis.call('HSET', KEYS[1], ARGV[1], assigned + ARGV[3], 'round', served, 'at', now)
redis.call('PEXPIRE', KEYS[1], ROUNDS_TTL_MS)
return (assigned + ARGV[2]) * count + ARGV[4] + 1
