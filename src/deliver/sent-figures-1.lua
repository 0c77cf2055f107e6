--[[
  What is known of the figures that one place has.

  KEYS[1]  the report's places: a hash
  ARGV[1]  the place   ARGV[2]  the run   ARGV[3]  at, epoch ms
  ARGV[4]  'begun', 'sent', 'unsent' or 'unknown'   ARGV[5]  of 'sent', the figures as JSON
  ARGV[6]  seconds to keep the report's places   ARGV[7]  ms after which a run that said no more is not waited for

  The field `<place>` holds what was sent last; `open <place>` the runs that may have changed it since, as a JSON object
  of { at, over }: `over` when the run said that nobody knows. A later certain delivery outlives those, but no run that
  is still at it: what that one sends comes after.
]]
local places, place, run, at, what = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local open = cjson.decode(redis.call('HGET', places, 'open ' .. place) or '{}')
open[run] = nil
if what == 'begun' or what == 'unknown' then
  open[run] = { at = at, over = what == 'unknown' }
elseif what == 'sent' then
  local held = redis.call('HGET', places, place)
  -- A retry of an old run tells of it again; what came after it stays.
  if not held or cjson.decode(held).at <= at then redis.call('HSET', places, place, ARGV[5]) end
  for other, one in pairs(open) do
    if (one.over and one.at < at) or one.at < at - ARGV[7] then open[other] = nil end
  end
end
if next(open) then
  redis.call('HSET', places, 'open ' .. place, cjson.encode(open))
else
  redis.call('HDEL', places, 'open ' .. place)
end
redis.call('EXPIRE', places, ARGV[6])
return 1
