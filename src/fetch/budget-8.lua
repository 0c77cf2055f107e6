--[[
  The token bucket and the line of one API key. One atomic step per call of this script.

  GUARANTEE
    At most `calls` tokens are out at once. A token is out from its grant until its reply is told plus one window;
    if no reply is ever told, until `hold` plus one window after the grant. So no stretch of one window at the server
    holds more than `calls` dispatches, however requests and replies travel.
    The line goes by class (0 on demand, 1 scheduled, 2 backfill), then organizations in turns, then arrival; after
    `passes` tokens in a row that passed a waiting lower class, the next one is that class's.
    Callers may come with other limits than those before them: an edited definition takes effect at once. Tokens that
    are out count against the new limit, and return by the new window. `look` changes nothing, and its caller learns nothing
    of the time.
    After a 429 there are half as many tokens, and `recovery` more with each window without another. The first 429 of
    such a stretch, and the first to ask after it, are told so: one caller each, whatever number of workers there is.
    Time is the line's own. It goes on by the lesser of two measures: what this Redis's wall clock went on since the last
    call, and how far it must be at least by the caller's monotonic clock and what it was told before. So a step ahead
    of the wall clock gives nothing back early; after a step back, time goes on from where it was.
    What the first measure has in advance is added wherever an instant to come is set. More than `leeway` is dropped: the
    line's time goes on by it, and so does every instant that is kept, by which nothing comes back earlier.
    So what is kept lies never before what it would by the wall clock, which version 7 goes by: both may work on one line.
    A caller that knows nothing of the line and is the first of its machine drops all since the last call: what is out
    then returns later by that, at most by a window.
    A line that this Redis has forgotten, or holds as it was before, counts as one with all tokens out.
    No key of the API and no other secret ever comes here.
    The same machine stands in memory-budget.ts; one suite of tests holds both to the same answers.

  KEYS (all with the same hash tag, one slot of a cluster)
    1 held    zset   token -> ms at which it returns (in flight: at the latest)
    2 flight  set    tokens whose reply has not been told
    3 line    zset   waiters, all of score 0, so ordered by name: <class>|<round>|<arrival>|<id>
    4 told    zset   id -> ms at which the waiter was told to come back
    5 place   hash   id -> its name in `line`
    6 rounds  hash   <class> -> round being served; <class>:<org> -> round that organization asked for last
    7 state   hash   last, blocked, throttled, cut_to, cut_at, slowed, arrivals, passes, window, life, wall, mine, ahead,
                     anew: 1 once it was lost, untold: 1 until a caller knows
    8 clocks  hash   machine -> ms from its monotonic clock to the line's time
  Version 7 has the first seven, with this Redis's wall clock in place of the line's time.

  ARGV
    1 operation   2 calls   3 window ms   4 ms late until passed by   5 ms more until lost   6 passes   7 recovery
    8 machine   9 its monotonic clock, ms, when the caller sent this
    10 life of the line that the caller knows, or ''   11 ms from 9 to the line's time
    12 the line's time that the caller saw last        13 what a line is that is not here: '?', 'new' or 'lost'
    14 ms for which all tokens of a lost one are out
    ask     15 id  16 token  17 org  18 class  19 hold ms -> {over, 1, tokens left} | {over, 0, tokens, ms to expect, ahead}
                                                 over: ms since the first 429 of a stretch that has ended since, or -1
    replied 15 token     unsent 15 token     leave 15 id -> {}
    block   15 for ms           -> {1 if it is the first of its stretch, limit, blocked for ms, slowed for ms}
    look                        -> {tokens, in flight, waiting, blocked for ms or 0, throttled, limit, slowed for ms or 0}
  Each reply: {wall clock of this Redis in ms, life, the line's time, 1 if it was lost and begins anew, the above}.
  Where the line is not here: ask and block get {wall clock} and do nothing, unless 13 says what it is; the others do
  nothing and get life '', as `look` always does.
  Instants go in and out as ms from now.
  Asking twice with the same token (a command that was sent again) answers twice with the same grant.
]]
-- ms by which requests may take longer than one another without costing time.
local leeway = 500
local held, flight, line, told, place, rounds, state, clocks =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local operation = ARGV[1]
local calls, window, passedBy, lost, passes, recovery = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]),
  tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

-- 14 digits hold milliseconds, rounds and arrivals for good, and numbers of one length sort as text.
local function digits(number) return string.format('%014d', number) end
local function number(field) return tonumber(redis.call('HGET', state, field) or '0') end

local time = redis.call('TIME')
local wall = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local known, asks = redis.call('EXISTS', state) == 1, operation == 'ask' or operation == 'block'
if not known and asks and ARGV[13] == '?' then return { wall } end
if not known and not asks then
  return { wall, '', 0, 0, operation == 'look' and { calls, 0, 0, 0, 0, calls, 0 } or {} }
end

local machine, reading = ARGV[8], tonumber(ARGV[9])
local looks = operation == 'look'
local life = redis.call('HGET', state, 'life')
if not life and not looks then
  -- New, or of version 7: what machines knew of an earlier line says nothing of this one.
  life = time[1] .. '.' .. time[2] .. ' ' .. ARGV[9] .. ' ' .. machine
  -- A full Redis refuses this one, but no longer what comes after a deletion.
  redis.call('HSET', state, 'life', life)
  redis.call('DEL', clocks)
end
local last = known and number('last') or wall
local reached = last + number('ahead') + math.max(0, wall - number('wall'))
-- Version 7 was here since: what it wrote is its wall clock.
if last ~= number('mine') then reached = math.max(last, wall, number('mine') + number('ahead')) end
-- Who looks and knows nothing is shown what is true by the wall clock.
local proven = looks and reached or last
local anew = not known and ARGV[13] == 'lost'
local dropped = 0
if known and ARGV[10] == life then
  -- What the caller saw was written: a Redis that knows less was put back to an earlier state.
  anew = tonumber(ARGV[12]) > last
  proven = reading + tonumber(ARGV[11])
  -- More has passed than the wall clock says: it was set back. What it does not tell is dropped as well.
  if proven > reached + 5 then dropped = proven - reached end
else
  -- Of a line that the caller knew nothing is left, and whoever made this one could not tell.
  if known and ARGV[10] ~= '' and redis.call('HGET', state, 'anew') ~= '1' then anew = true end
  -- A process that comes anew goes by what others of its machine knew.
  local offset = redis.call('HGET', clocks, machine)
  if offset then proven = reading + tonumber(offset) end
end
local now = math.max(last, math.min(reached, proven))
-- At the latest it is this late: instants to come count from here.
local latest = reached

local function limit()
  local to = redis.call('HGET', state, 'cut_to')
  if not to then return calls end
  return math.min(calls, tonumber(to) + math.floor(math.max(0, now - number('cut_at')) / window) * recovery)
end
-- When all tokens are there again if no other 429 comes: the end of the stretch. 0 where none is on record.
local function whole()
  local to = redis.call('HGET', state, 'cut_to')
  if not to then return 0 end
  return number('cut_at') + math.max(0, math.ceil((calls - tonumber(to)) / recovery)) * window
end

-- Writes nothing: who looks may know nothing of the time, and must not hold up those who do.
if looks then
  local out = redis.call('ZRANGEBYSCORE', held, '(' .. now, '+inf')
  local inFlight = 0
  for _, token in ipairs(out) do inFlight = inFlight + redis.call('SISMEMBER', flight, token) end
  local gone = redis.call('ZCOUNT', told, '-inf', '(' .. (now - passedBy - lost))
  return { wall, '', 0, 0, {
    anew and 0 or math.max(0, limit() - #out), inFlight, redis.call('ZCARD', line) - gone,
    math.max(0, number('blocked') - now), number('throttled'), limit(), math.max(0, whole() - now),
  } }
end

if latest > now + leeway then dropped = latest - now end
if dropped > 0 then
  -- All instants move by it. Left behind the wall clock, they would have passed in the eyes of version 7.
  now = now + dropped
  latest = now
  for _, instants in ipairs({ held, told }) do
    for _, name in ipairs(redis.call('ZRANGE', instants, 0, -1)) do redis.call('ZINCRBY', instants, dropped, name) end
  end
  for _, field in ipairs({ 'blocked', 'cut_at', 'slowed' }) do
    local at = redis.call('HGET', state, field)
    if at then redis.call('HSET', state, field, digits(tonumber(at) + dropped)) end
  end
end
if ARGV[10] == life then
  redis.call('HSET', clocks, machine, ARGV[11])
  if redis.call('HLEN', clocks) > 64 then redis.call('DEL', clocks) end
end
redis.call('HSET', state, 'last', digits(now), 'mine', digits(now), 'wall', digits(wall), 'ahead', latest - now)
if anew then
  redis.call('HSET', state, 'anew', 1, 'untold', 1)
  for token = 1, calls do redis.call('ZADD', held, latest + tonumber(ARGV[14]), 'lost#' .. token) end
end

local function drop(id)
  local name = redis.call('HGET', place, id)
  if name then redis.call('ZREM', line, name) end
  redis.call('HDEL', place, id)
  redis.call('ZREM', told, id)
end

-- Each token that is out returns one window after its reply: of another length now, the instants move by the difference.
local before = redis.call('HGET', state, 'window')
if before and tonumber(before) ~= window then
  local tokens = redis.call('ZRANGE', held, 0, -1)
  for _, token in ipairs(tokens) do redis.call('ZINCRBY', held, window - tonumber(before), token) end
end
redis.call('HSET', state, 'window', ARGV[3])

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

local most = limit()
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
  redis.call('ZADD', held, latest + hold + window + 1, token)
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
  local id, token, org, class, hold = ARGV[15], ARGV[16], ARGV[17], ARGV[18], tonumber(ARGV[19])
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
  if redis.call('SREM', flight, ARGV[15]) == 1 then redis.call('ZADD', held, latest + window + 1, ARGV[15]) end
elseif operation == 'unsent' then
  redis.call('SREM', flight, ARGV[15])
  redis.call('ZREM', held, ARGV[15])
elseif operation == 'leave' then
  drop(ARGV[15])
elseif operation == 'block' then
  local first = now >= whole() or not redis.call('HGET', state, 'slowed')
  if first then redis.call('HSET', state, 'slowed', digits(now)) end
  local blocked = math.max(number('blocked'), latest + tonumber(ARGV[15]))
  redis.call('HSET', state, 'blocked', digits(blocked))
  redis.call('HINCRBY', state, 'throttled', 1)
  -- Calls that were under way with the first of them all come back throttled: one cut for them together.
  local cut_at = redis.call('HGET', state, 'cut_at')
  local cut = cut_at and tonumber(cut_at) or -math.huge
  if now >= cut + window then redis.call('HSET', state, 'cut_to', math.max(1, math.floor(most / 2))) end
  redis.call('HSET', state, 'cut_at', digits(math.max(cut, blocked)))
  result = { first and 1 or 0, limit(), blocked - now, whole() - now }
else
  return redis.error_reply('ERR unknown operation ' .. tostring(operation))
end

-- An idle line goes away; never before its last token, its block, a promise to a waiter or a slow stretch has run out,
-- nor when the wall clock, by which keys expire, is stepped ahead by less than a week.
local last = redis.call('ZRANGE', held, -1, -1, 'WITHSCORES')[2]
local promise = redis.call('ZRANGE', told, -1, -1, 'WITHSCORES')[2]
local keep = math.max(tonumber(last or '0'), tonumber(promise or '0') + passedBy + lost, number('blocked'),
  whole(), now)
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, keep - now + 604800000) end
return { wall, life, now, asks and redis.call('HDEL', state, 'untold') or 0, result }
