--[[
  The token bucket and the line of one API key. One atomic step per call of this script.

  GUARANTEE
    At most `calls` tokens are out at once. A token is out from its grant until its reply is told plus one window;
    if no reply is ever told, until `hold` plus one window after the grant. So no stretch of one window at the server
    holds more than `calls` dispatches, however requests and replies travel.
    The line goes by class (0 on demand, 1 scheduled, 2 backfill), then organizations in turns, then arrival; after
    `passes` tokens in a row that passed a waiting lower class, the next one is that class's.
    Callers may come with other limits than those before them: an edited definition takes effect at once. Tokens that
    are out count against the new limit, and return by the new window; `look` moves none of them.
    After a 429 there are half as many tokens, and `recovery` more with each window without another. The first 429 of
    such a stretch, and the first to ask after it, are told so: one caller each, whatever number of workers there is.
    Time is this Redis's own, and never runs backwards. No key of the API and no other secret ever comes here.
    The same machine stands in memory-budget.ts; one suite of tests holds both to the same answers.

  KEYS (all with the same hash tag, one slot of a cluster)
    1 held    zset   token -> ms at which it returns (in flight: at the latest)
    2 flight  set    tokens whose reply has not been told
    3 line    zset   waiters, all of score 0, so ordered by name: <class>|<round>|<arrival>|<id>
    4 told    zset   id -> ms at which the waiter was told to come back
    5 place   hash   id -> its name in `line`
    6 rounds  hash   <class> -> round being served; <class>:<org> -> round that organization asked for last
    7 state   hash   last, blocked, throttled, cut_to, cut_at, slowed, arrivals, passes, window

  ARGV
    1 operation   2 calls   3 window ms   4 ms late until passed by   5 ms more until lost   6 passes   7 recovery
    ask     8 id  9 token  10 org  11 class  12 hold ms  -> {over, 1, tokens left} | {over, 0, tokens, ms to expect, ahead}
                                                 over: ms since the first 429 of a stretch that has ended since, or -1
    replied 8 token     unsent 8 token     leave 8 id    -> {}
    block   8 for ms            -> {1 if it is the first of its stretch, limit, blocked for ms, slowed for ms}
    look                        -> {tokens, in flight, waiting, blocked for ms or 0, throttled, limit, slowed for ms or 0}
  Instants go in and out as ms from now: the clocks of this Redis and of its callers need not agree.
  Asking twice with the same token (a command that was sent again) answers twice with the same grant.
]]
local held, flight, line, told, place, rounds, state =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local operation = ARGV[1]
local calls, window, passedBy, lost, passes, recovery = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]),
  tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

-- 14 digits hold milliseconds, rounds and arrivals for good, and numbers of one length sort as text.
local function digits(number) return string.format('%014d', number) end
local function number(field) return tonumber(redis.call('HGET', state, field) or '0') end

local time = redis.call('TIME')
local now = math.max(number('last'), tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
redis.call('HSET', state, 'last', digits(now))

local function drop(id)
  local name = redis.call('HGET', place, id)
  if name then redis.call('ZREM', line, name) end
  redis.call('HDEL', place, id)
  redis.call('ZREM', told, id)
end

-- Each token that is out returns one window after its reply: of another length now, the instants move by the difference.
if operation ~= 'look' then
  local before = redis.call('HGET', state, 'window')
  if before and tonumber(before) ~= window then
    local tokens = redis.call('ZRANGE', held, 0, -1)
    for _, token in ipairs(tokens) do redis.call('ZINCRBY', held, window - tonumber(before), token) end
  end
  redis.call('HSET', state, 'window', ARGV[3])
end

-- Tokens whose time has come are back; waiters who did not come are gone.
for _, token in ipairs(redis.call('ZRANGEBYSCORE', held, '-inf', now)) do
  redis.call('SREM', flight, token)
  redis.call('ZREM', held, token)
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', told, '-inf', '(' .. (now - passedBy - lost))) do drop(id) end
if redis.call('ZCARD', line) == 0 then
  redis.call('DEL', rounds)
  redis.call('HDEL', state, 'passes')
end

local function limit()
  local to = redis.call('HGET', state, 'cut_to')
  if not to then return calls end
  return math.min(calls, tonumber(to) + math.floor(math.max(0, now - number('cut_at')) / window) * recovery)
end
local most = limit()
-- When all tokens are there again if no other 429 comes: the end of the stretch. 0 where none is on record.
local function whole()
  local to = redis.call('HGET', state, 'cut_to')
  if not to then return 0 end
  return number('cut_at') + math.max(0, math.ceil((calls - tonumber(to)) / recovery)) * window
end
local function free() return math.max(0, most - redis.call('ZCARD', held)) end

-- The caller's name in the line: the one it has, or a new one behind its organization's last.
local function enter(id, org, class)
  local name = redis.call('HGET', place, id)
  if name and string.sub(name, 1, 1) == class then return name end
  if name then drop(id) end
  local serving = tonumber(redis.call('HGET', rounds, class) or '0')
  local latest = tonumber(redis.call('HGET', rounds, class .. ':' .. org) or '-1')
  local round = math.max(serving, latest + 1)
  redis.call('HSET', rounds, class .. ':' .. org, round)
  local arrival = redis.call('HINCRBY', state, 'arrivals', 1)
  name = class .. '|' .. digits(round) .. '|' .. digits(arrival) .. '|' .. id
  redis.call('ZADD', line, 0, name)
  redis.call('HSET', place, id, name)
  return name
end

-- How many go before `name`, not counting those who are late.
local function ahead(name)
  local present = redis.call('ZRANK', line, name)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', told, '-inf', '(' .. (now - passedBy))) do
    if redis.call('HGET', place, id) < name then present = present - 1 end
  end
  if number('passes') < passes then return present end
  local top = tonumber(string.sub(redis.call('ZRANGE', line, 0, 0)[1], 1, 1))
  local owed = redis.call('ZRANGEBYLEX', line, '[' .. (top + 1), '+', 'LIMIT', 0, 1)[1]
  if not owed then return present end
  if owed == name then return 0 end
  -- <class>|<14 digits>|<14 digits>|<id>
  local since = tonumber(redis.call('ZSCORE', told, string.sub(owed, 33)) or '0')
  if since + passedBy < now then return present end
  if name < owed then return present + 1 end
  return present
end

local function expected(before)
  local times = {}
  for _ = 1, free() do times[#times + 1] = now end
  local inFlight = {}
  for _, token in ipairs(redis.call('SMEMBERS', flight)) do inFlight[token] = true end
  local tokens = redis.call('ZRANGE', held, 0, -1, 'WITHSCORES')
  for index = 1, #tokens, 2 do
    local release = tonumber(tokens[index + 1])
    -- A reply that comes right now is the earliest that can happen to a call in flight.
    if inFlight[tokens[index]] then release = math.min(release, now + window) end
    times[#times + 1] = release
  end
  table.sort(times)
  -- Where more are out than there are now, the first that come back are nobody's.
  local nobodys = math.max(0, #times - most)
  local at = (times[nobodys + before % most + 1] or now) + math.floor(before / most) * window
  return math.max(at, number('blocked'), now + 1)
end

local function grant(id, name, token, class, hold)
  drop(id)
  redis.call('ZADD', held, now + hold + window + 1, token)
  redis.call('SADD', flight, token)
  local round = tonumber(string.sub(name, 3, 16))
  if round > tonumber(redis.call('HGET', rounds, class) or '0') then redis.call('HSET', rounds, class, round) end
  local passesSome = redis.call('ZLEXCOUNT', line, '[' .. (tonumber(class) + 1), '+') > 0
  local wasPassed = redis.call('ZLEXCOUNT', line, '-', '(' .. class) > 0
  if passesSome and not wasPassed then
    redis.call('HINCRBY', state, 'passes', 1)
  else
    redis.call('HDEL', state, 'passes')
  end
end

local function over()
  local since = redis.call('HGET', state, 'slowed')
  if not since or now < whole() then return -1 end
  redis.call('HDEL', state, 'slowed')
  return now - tonumber(since)
end

local result = {}
if operation == 'ask' then
  local id, token, org, class, hold = ARGV[8], ARGV[9], ARGV[10], ARGV[11], tonumber(ARGV[12])
  if redis.call('ZSCORE', held, token) then
    result = { -1, 1, free() }
  else
    local name = enter(id, org, class)
    redis.call('ZADD', told, now, id)
    local before = ahead(name)
    local tokens = free()
    if before < tokens and now >= number('blocked') then
      grant(id, name, token, class, hold)
      result = { over(), 1, tokens - 1 }
    else
      local at = expected(before)
      redis.call('ZADD', told, at, id)
      result = { over(), 0, tokens, at - now, before }
    end
  end
elseif operation == 'replied' then
  -- One millisecond more than the window: both ends of it are read from clocks that cut the rest of one off.
  if redis.call('SREM', flight, ARGV[8]) == 1 then redis.call('ZADD', held, now + window + 1, ARGV[8]) end
elseif operation == 'unsent' then
  redis.call('SREM', flight, ARGV[8])
  redis.call('ZREM', held, ARGV[8])
elseif operation == 'leave' then
  drop(ARGV[8])
elseif operation == 'block' then
  local first = now >= whole() or not redis.call('HGET', state, 'slowed')
  if first then redis.call('HSET', state, 'slowed', digits(now)) end
  local blocked = math.max(number('blocked'), now + tonumber(ARGV[8]))
  redis.call('HSET', state, 'blocked', digits(blocked))
  redis.call('HINCRBY', state, 'throttled', 1)
  -- Calls that were under way with the first of them all come back throttled: one cut for them together.
  local cut_at = redis.call('HGET', state, 'cut_at')
  local cut = cut_at and tonumber(cut_at) or -math.huge
  if now >= cut + window then redis.call('HSET', state, 'cut_to', math.max(1, math.floor(most / 2))) end
  redis.call('HSET', state, 'cut_at', digits(math.max(cut, blocked)))
  result = { first and 1 or 0, limit(), blocked - now, whole() - now }
elseif operation == 'look' then
  local blocked = number('blocked')
  result = {
    free(), redis.call('SCARD', flight), redis.call('ZCARD', line), math.max(0, blocked - now), number('throttled'), most,
    math.max(0, whole() - now),
  }
else
  return redis.error_reply('ERR unknown operation ' .. tostring(operation))
end

-- An idle line goes away; never before its last token, its block, a promise to a waiter or a slow stretch has run out.
local last = redis.call('ZRANGE', held, -1, -1, 'WITHSCORES')[2]
local promise = redis.call('ZRANGE', told, -1, -1, 'WITHSCORES')[2]
local keep = math.max(tonumber(last or '0'), tonumber(promise or '0') + passedBy + lost, number('blocked'),
  whole(), now)
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, keep - now + 3600000) end
return result
