--[[
  Records a step of the server's wall clock.

  KEYS[1]  the steps: a hash
  ARGV[1]  size of the step, ms   ARGV[2]  epoch ms after it   ARGV[3]  number of steps known to the caller
  ARGV[4]  ms by which two measurements of one step may differ

  Returns { 1 or 0, number of steps }: 1 if the caller is the first to measure this step.
]]
local steps, ms = unpack(redis.call('HMGET', KEYS[1], 'steps', 'ms'))
steps = tonumber(steps or '0')
if ms and steps > tonumber(ARGV[3]) and math.abs(tonumber(ms) - tonumber(ARGV[1])) <= tonumber(ARGV[4]) then
  return { 0, steps }
end
redis.call('HSET', KEYS[1], 'ms', ARGV[1], 'at', ARGV[2], 'steps', string.format('%.0f', steps + 1))
return { 1, steps + 1 }
