-- Moves cursors, all or none.
--[[
  KEYS[1]  cursors: a hash   ARGV  for each cursor its name, the expected value and the new one

  Returns 1, or changes nothing and returns 0 if one of them has another value.
]]
for i = 1, #ARGV, 3 do
  if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then return 0 end
end
for i = 1, #ARGV, 3 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2]) end
return 1
