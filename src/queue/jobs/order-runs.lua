--[[
  Gives a run its place among its organization's waiting runs (fair-priority.ts): runs that are expected later move back by
  one place each. The set of places stays the same, so other organizations are not affected.

  KEYS[1]  runs of the organization in the order in which they are expected: a sorted set, all of score 0
  KEYS[2]  BullMQ's prioritized jobs   KEYS[3]  BullMQ's counter of prioritized jobs
  ARGV[1]  run   ARGV[2]  when it is expected, 14 digits, and its report   ARGV[3]  the priority that it was assigned
  ARGV[4]  prefix of jobs   ARGV[5]  ms for which the order is kept

  Returns the priority for BullMQ: the assigned one, or that of the first run that is expected later.
]]
-- Most runs to move back.
local MAX_MOVED = 1000
-- BullMQ's score is the priority times this, plus a counter.
local STEP = 0x100000000

local name = ARGV[2] .. '|' .. ARGV[1]
local assigned = tonumber(ARGV[3])
local moved = {}
for _, other in ipairs(redis.call('ZRANGEBYLEX', KEYS[1], '(' .. ARGV[2] .. '|\255', '+', 'LIMIT', 0, MAX_MOVED)) do
  local run = string.sub(other, -32)
  local job = ARGV[4] .. run
  if redis.call('EXISTS', job) == 0 or redis.call('HEXISTS', job, 'processedOn') == 1 then
    -- The run has started or ended.
    redis.call('ZREM', KEYS[1], other)
  else
    -- Absent if the run's start is delayed, or if it is just being added.
    local score = redis.call('ZSCORE', KEYS[2], run)
    if score and math.floor(score / STEP) < assigned then moved[#moved + 1] = { run = run, job = job, score = tonumber(score) } end
  end
end
redis.call('ZADD', KEYS[1], 0, name)
redis.call('PEXPIRE', KEYS[1], ARGV[5])
if #moved == 0 then return assigned end
table.sort(moved, function(one, other) return one.score < other.score end)
local own = math.floor(moved[1].score / STEP)
for index, each in ipairs(moved) do
  local nextOne = moved[index + 1]
  local score = nextOne and nextOne.score or assigned * STEP + redis.call('INCR', KEYS[3]) % STEP
  redis.call('ZADD', KEYS[2], string.format('%.0f', score), each.run)
  redis.call('HSET', each.job, 'priority', math.floor(score / STEP))
end
return own
