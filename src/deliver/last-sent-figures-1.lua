--[[
  Records what is known about the figures at one destination.

  KEYS[1]  the report's destinations: a hash
  ARGV[1]  the destination   ARGV[2]  the run   ARGV[3]  at, epoch ms
  ARGV[4]  'begun', 'sent', 'unsent' or 'unknown'   ARGV[5]  for 'sent', the figures as JSON
  ARGV[6]  seconds to keep the hash   ARGV[7]  ms after which a run without a result is ignored

  The field `<destination>` holds the last delivery. `open <destination>` holds the runs that may have changed it since,
  as a JSON object of { at, over }; `over` means that the run ended with an unknown result. A later certain delivery
  removes such runs, but not a run that is still active, because that one delivers later.
]]
local key, destination, run, at, event = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local open = cjson.decode(redis.call('HGET', key, 'open ' .. destination) or '{}')
open[run] = nil
if event == 'begun' or event == 'unknown' then
  open[run] = { at = at, over = event == 'unknown' }
elseif event == 'sent' then
  local last = redis.call('HGET', key, destination)
  -- The retry of an old run must not replace a newer delivery.
  if not last or cjson.decode(last).at <= at then redis.call('HSET', key, destination, ARGV[5]) end
  for other, one in pairs(open) do
    if (one.over and one.at < at) or one.at < at - ARGV[7] then open[other] = nil end
  end
end
if next(open) then
  redis.call('HSET', key, 'open ' .. destination, cjson.encode(open))
else
  redis.call('HDEL', key, 'open ' .. destination)
end
redis.call('EXPIRE', key, ARGV[6])
return 1
