-- Epoch ms by the server's clock, because clocks of two machines may differ.
local function serverTimeMs()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
