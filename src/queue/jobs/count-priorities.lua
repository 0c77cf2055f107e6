--[[
  Counts the waiting jobs in each class of priorities. BullMQ's score is the priority times 2^32, plus a counter.

  KEYS[1]  BullMQ's prioritized jobs: a sorted set
  ARGV[1]  number of classes. They alternate: priority 1 belongs to the first class, 2 to the second

  Returns one count for each class.
]]
local counts = {}
for class = 1, tonumber(ARGV[1]) do counts[class] = 0 end
local rows = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for i = 2, #rows, 2 do
  local class = (math.floor(tonumber(rows[i]) / 4294967296) - 1) % #counts + 1
  counts[class] = counts[class] + 1
end
return counts
