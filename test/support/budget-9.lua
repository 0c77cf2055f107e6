--[[
  The token bucket and the queue of one API key. Each call of this script is one atomic step.

  GUARANTEES
    At most `calls` tokens are held at once. A token is held from its grant until its reply plus one window; without a
    reply until `hold` plus one window after the grant. So any window at the server holds at most `calls` dispatches.
    The queue is ordered by class (0 on demand, 1 scheduled, 2 backfill), then organizations round-robin, then arrival;
    after `starvationLimit` tokens in a row that passed a waiting lower class, the next one goes to that class.
    Spare calls (class 3, corrections) never join the queue: they get a token only while nobody waits and none is blocked,
    and hold at most a tenth of the tokens, at least one and at most MAX_SPARE. So a call of any class waits for at most
    these.
    Limits may change between calls: held tokens count against the new limit and return by the new window. `inspect`
    changes nothing, and its caller learns nothing of the time.
    After a 429 the limit is halved, and grows by `recovery` with each window without another. The first 429 of such a
    stretch and the first acquire after it are reported to one caller each, whatever the number of workers.
    The bucket has its own time. It advances by the lesser of two measures: the advance of this Redis's wall clock since
    the last call, and the minimum proven by the caller's monotonic clock and earlier replies. So a step ahead of the wall
    clock returns nothing early; after a step back, time continues from where it was.
    The excess of the first measure is added to every future instant that is set. An excess over MAX_EXCESS_MS is dropped:
    the bucket's time and all stored instants advance by it, so that nothing returns earlier.
    Stored instants are therefore never earlier than by the wall clock, which version 7 uses: both can share a bucket.
    A caller that does not know the bucket and is the first of its machine drops all time since the last call: held tokens
    then return later by that, at most by a window.
    A bucket that this Redis has lost, or restored to an earlier state, counts as all tokens held.
    Neither API keys nor other secrets are passed in.
    memory-budget.ts is the same state machine; one test suite compares the two.

  KEYS (all with the same hash tag, one slot of a cluster; names and fields are stored, version 7 shares the first seven,
  version 8 all)
    1 held    zset   token -> ms at which it returns (in flight: the latest such instant)
    2 flight  set    tokens without a reply
    3 line    zset   the queue: waiters, all of score 0, so ordered by name: <class>|<round>|<arrival>|<id>
    4 told    zset   id -> ms at which the waiter is expected to acquire again
    5 place   hash   id -> its name in `line`
    6 rounds  hash   <class> -> round being served; <class>:<org> -> round that organization joined last
    7 state   hash   last, blocked, throttled, cut_to, cut_at, slowed, arrivals, passes, window, life (generation), wall, mine,
                     ahead, anew: 1 once it was lost, untold: 1 until that is reported
    8 clocks  hash   machine -> ms from its monotonic clock to the bucket's time
  Version 7 uses this Redis's wall clock in place of the bucket's time.

  ARGV
    1 operation   2 calls   3 window ms   4 ms until an overdue waiter is overtaken   5 ms more until it expires
    6 starvationLimit   7 recovery   8 machine   9 its monotonic clock, ms, when the caller sent this
    10 generation that the caller knows, or ''   11 ms from 9 to the bucket's time
    12 the latest bucket time that the caller saw   13 what missing state means: '?', 'new' or 'lost'
    14 ms for which all tokens of a lost bucket are held
    acquire  15 id  16 token  17 org  18 class  19 hold ms -> {recovered, 1, tokens left}
                                                            | {recovered, 0, tokens, ms until the expected grant, waiters ahead}
                                                  recovered: ms since the first 429 of a stretch that has ended since, or -1
    spare    15 id  16 token  17 org  18 class  19 hold ms -> as acquire; waiters ahead: of all classes. Without a grant it
                                                  changes nothing
    complete 15 token     release 15 token     cancel 15 id -> {}
    penalize 15 for ms    -> {1 if it is the first of its stretch, limit, blocked for ms, slowed for ms}
    inspect               -> {tokens, in flight, waiting, blocked for ms or 0, throttled, limit, slowed for ms or 0}
  Each reply: {wall clock of this Redis in ms, generation, the bucket's time, 1 if it was lost and is reset, the above}.
  Missing state: acquire and penalize get {wall clock} and do nothing unless 13 says what it means; the others do nothing
  and get generation '', as `inspect` always does.
  Instants are passed and returned as ms from now.
  Acquiring twice with the same token (a command that was resent) returns the same grant twice.
]]
-- Ms by which the duration of requests may differ without dropping time.
local MAX_EXCESS_MS = 500
-- Tokens that spare calls hold at once. Their tokens have names with this prefix, and no others.
local MAX_SPARE = 3
local SPARE = 'spare!'
local held, flight, queue, wakeups, names, rounds, state, clocks =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local operation = ARGV[1]
local calls, window, overtakenAfter, expiresAfter, starvationLimit, recovery = tonumber(ARGV[2]), tonumber(ARGV[3]),
  tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

-- 14 digits suffice for milliseconds, rounds and arrivals; numbers of equal length sort as text.
local function digits(number) return string.format('%014d', number) end
local function number(field) return tonumber(redis.call('HGET', state, field) or '0') end

local time = redis.call('TIME')
local wall = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local exists, creates = redis.call('EXISTS', state) == 1, operation == 'acquire' or operation == 'spare' or operation == 'penalize'
if not exists and creates and ARGV[13] == '?' then return { wall } end
if not exists and not creates then
  return { wall, '', 0, 0, operation == 'inspect' and { calls, 0, 0, 0, 0, calls, 0 } or {} }
end

local machine, reading = ARGV[8], tonumber(ARGV[9])
local inspects = operation == 'inspect'
local generation = redis.call('HGET', state, 'life')
if not generation and not inspects then
  -- New, or of version 7: clocks of an earlier generation do not apply.
  generation = time[1] .. '.' .. time[2] .. ' ' .. ARGV[9] .. ' ' .. machine
  -- Before DEL: a Redis out of memory refuses a first write that may need memory, but none after a deletion.
  redis.call('HSET', state, 'life', generation)
  redis.call('DEL', clocks)
end
local last = exists and number('last') or wall
local wallTime = last + number('ahead') + math.max(0, wall - number('wall'))
-- Version 7 has written since, by its wall clock.
if last ~= number('mine') then wallTime = math.max(last, wall, number('mine') + number('ahead')) end
-- An inspecting caller without a clock sees the state by the wall clock.
local provenTime = inspects and wallTime or last
local wasLost = not exists and ARGV[13] == 'lost'
local dropped = 0
if exists and ARGV[10] == generation then
  -- The caller has seen later state than there is: Redis was restored to an earlier one.
  wasLost = tonumber(ARGV[12]) > last
  provenTime = reading + tonumber(ARGV[11])
  -- More time has passed than the wall clock shows: it was set back. The difference is dropped as well.
  if provenTime > wallTime + 5 then dropped = provenTime - wallTime end
else
  -- The generation that the caller knew is gone, and the creator of this one did not detect that.
  if exists and ARGV[10] ~= '' and redis.call('HGET', state, 'anew') ~= '1' then wasLost = true end
  -- A new process uses the clock offset that others of its machine have recorded.
  local offset = redis.call('HGET', clocks, machine)
  if offset then provenTime = reading + tonumber(offset) end
end
local now = math.max(last, math.min(wallTime, provenTime))
-- Upper bound of the time: future instants count from here.
local latest = wallTime

local function limit()
  local to = redis.call('HGET', state, 'cut_to')
  if not to then return calls end
  return math.min(calls, tonumber(to) + math.floor(math.max(0, now - number('cut_at')) / window) * recovery)
end
-- When the full limit is restored unless another 429 comes: the end of the stretch. 0 without one.
local function fullRateAt()
  local to = redis.call('HGET', state, 'cut_to')
  if not to then return 0 end
  return number('cut_at') + math.max(0, math.ceil((calls - tonumber(to)) / recovery)) * window
end

-- Writes nothing: the caller may know nothing of the time, and must not delay callers that do.
if inspects then
  local out = redis.call('ZRANGEBYSCORE', held, '(' .. now, '+inf')
  local inFlight = 0
  for _, token in ipairs(out) do inFlight = inFlight + redis.call('SISMEMBER', flight, token) end
  local expired = redis.call('ZCOUNT', wakeups, '-inf', '(' .. (now - overtakenAfter - expiresAfter))
  return { wall, '', 0, 0, {
    wasLost and 0 or math.max(0, limit() - #out), inFlight, redis.call('ZCARD', queue) - expired,
    math.max(0, number('blocked') - now), number('throttled'), limit(), math.max(0, fullRateAt() - now),
  } }
end

if latest > now + MAX_EXCESS_MS then dropped = latest - now end
if dropped > 0 then
  -- All instants move by it: behind the wall clock they would be past for version 7.
  now = now + dropped
  latest = now
  for _, instants in ipairs({ held, wakeups }) do
    for _, name in ipairs(redis.call('ZRANGE', instants, 0, -1)) do redis.call('ZINCRBY', instants, dropped, name) end
  end
  for _, field in ipairs({ 'blocked', 'cut_at', 'slowed' }) do
    local at = redis.call('HGET', state, field)
    if at then redis.call('HSET', state, field, digits(tonumber(at) + dropped)) end
  end
end
if ARGV[10] == generation then
  redis.call('HSET', clocks, machine, ARGV[11])
  if redis.call('HLEN', clocks) > 64 then redis.call('DEL', clocks) end
end
redis.call('HSET', state, 'last', digits(now), 'mine', digits(now), 'wall', digits(wall), 'ahead', latest - now)
if wasLost then
  redis.call('HSET', state, 'anew', 1, 'untold', 1)
  for token = 1, calls do redis.call('ZADD', held, latest + tonumber(ARGV[14]), 'lost#' .. token) end
end

local function dequeue(id)
  local name = redis.call('HGET', names, id)
  if name then redis.call('ZREM', queue, name) end
  redis.call('HDEL', names, id)
  redis.call('ZREM', wakeups, id)
end

-- Held tokens return one window after their reply: if its length has changed, the instants move by the difference.
local before = redis.call('HGET', state, 'window')
if before and tonumber(before) ~= window then
  local tokens = redis.call('ZRANGE', held, 0, -1)
  for _, token in ipairs(tokens) do redis.call('ZINCRBY', held, window - tonumber(before), token) end
end
redis.call('HSET', state, 'window', ARGV[3])

-- Drop expired tokens and waiters.
for _, token in ipairs(redis.call('ZRANGEBYSCORE', held, '-inf', now)) do
  redis.call('SREM', flight, token)
  redis.call('ZREM', held, token)
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', wakeups, '-inf', '(' .. (now - overtakenAfter - expiresAfter))) do dequeue(id) end
if redis.call('ZCARD', queue) == 0 then
  redis.call('DEL', rounds)
  redis.call('HDEL', state, 'passes')
end

local currentLimit = limit()
local function free() return math.max(0, currentLimit - redis.call('ZCARD', held)) end

-- The waiter's name in the queue: its present one, or a new one behind its organization's last.
local function enqueue(id, org, class)
  local name = redis.call('HGET', names, id)
  if name and string.sub(name, 1, 1) == class then return name end
  if name then dequeue(id) end
  local serving = tonumber(redis.call('HGET', rounds, class) or '0')
  local joined = tonumber(redis.call('HGET', rounds, class .. ':' .. org) or '-1')
  local round = math.max(serving, joined + 1)
  redis.call('HSET', rounds, class .. ':' .. org, round)
  local arrival = redis.call('HINCRBY', state, 'arrivals', 1)
  name = class .. '|' .. digits(round) .. '|' .. digits(arrival) .. '|' .. id
  redis.call('ZADD', queue, 0, name)
  redis.call('HSET', names, id, name)
  return name
end

-- Waiters in front of `name`, without overdue ones.
local function waitersAhead(name)
  local present = redis.call('ZRANK', queue, name)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', wakeups, '-inf', '(' .. (now - overtakenAfter))) do
    if redis.call('HGET', names, id) < name then present = present - 1 end
  end
  if number('passes') < starvationLimit then return present end
  local top = tonumber(string.sub(redis.call('ZRANGE', queue, 0, 0)[1], 1, 1))
  local starving = redis.call('ZRANGEBYLEX', queue, '[' .. (top + 1), '+', 'LIMIT', 0, 1)[1]
  if not starving then return present end
  if starving == name then return 0 end
  -- <class>|<14 digits>|<14 digits>|<id>
  local notBefore = tonumber(redis.call('ZSCORE', wakeups, string.sub(starving, 33)) or '0')
  if notBefore + overtakenAfter < now then return present end
  if name < starving then return present + 1 end
  return present
end

-- When a waiter with `before` others ahead can expect its token.
local function estimateGrant(before)
  local times = {}
  for _ = 1, free() do times[#times + 1] = now end
  local inFlight = {}
  for _, token in ipairs(redis.call('SMEMBERS', flight)) do inFlight[token] = true end
  local tokens = redis.call('ZRANGE', held, 0, -1, 'WITHSCORES')
  for index = 1, #tokens, 2 do
    local release = tonumber(tokens[index + 1])
    -- A call in flight can be answered now at the earliest.
    if inFlight[tokens[index]] then release = math.min(release, now + window) end
    times[#times + 1] = release
  end
  table.sort(times)
  -- If more tokens are held than the current limit, the first to return are not granted again.
  local surplus = math.max(0, #times - currentLimit)
  local at = (times[surplus + before % currentLimit + 1] or now) + math.floor(before / currentLimit) * window
  return math.max(at, number('blocked'), now + 1)
end

local function grant(id, name, token, class, hold)
  dequeue(id)
  redis.call('ZADD', held, latest + hold + window + 1, token)
  redis.call('SADD', flight, token)
  local round = tonumber(string.sub(name, 3, 16))
  if round > tonumber(redis.call('HGET', rounds, class) or '0') then redis.call('HSET', rounds, class, round) end
  local passesOthers = redis.call('ZLEXCOUNT', queue, '[' .. (tonumber(class) + 1), '+') > 0
  local wasPassed = redis.call('ZLEXCOUNT', queue, '-', '(' .. class) > 0
  if passesOthers and not wasPassed then
    redis.call('HINCRBY', state, 'passes', 1)
  else
    redis.call('HDEL', state, 'passes')
  end
end

-- Ms since the first 429 of a stretch that has ended; -1 without one. Reported once.
local function recoveredAfter()
  local since = redis.call('HGET', state, 'slowed')
  if not since or now < fullRateAt() then return -1 end
  redis.call('HDEL', state, 'slowed')
  return now - tonumber(since)
end

local result = {}
if operation == 'acquire' then
  local id, token, org, class, hold = ARGV[15], ARGV[16], ARGV[17], ARGV[18], tonumber(ARGV[19])
  if redis.call('ZSCORE', held, token) then
    result = { -1, 1, free() }
  else
    local name = enqueue(id, org, class)
    redis.call('ZADD', wakeups, now, id)
    local before = waitersAhead(name)
    local tokens = free()
    if before < tokens and now >= number('blocked') then
      grant(id, name, token, class, hold)
      result = { recoveredAfter(), 1, tokens - 1 }
    else
      local at = estimateGrant(before)
      redis.call('ZADD', wakeups, at, id)
      result = { recoveredAfter(), 0, tokens, at - now, before }
    end
  end
elseif operation == 'spare' then
  local token, hold = ARGV[16], tonumber(ARGV[19])
  local times = {}
  local again = false
  for _, name in ipairs(redis.call('ZRANGE', held, 0, -1)) do
    if string.sub(name, 1, #SPARE) == SPARE then times[#times + 1] = tonumber(redis.call('ZSCORE', held, name)) end
    again = again or name == token
  end
  local most = math.max(1, math.min(MAX_SPARE, math.floor(currentLimit / 10)))
  local waiting, tokens = redis.call('ZCARD', queue), free()
  if again then
    result = { -1, 1, tokens }
  elseif waiting == 0 and tokens > 0 and #times < most and now >= number('blocked') then
    redis.call('ZADD', held, latest + hold + window + 1, token)
    redis.call('SADD', flight, token)
    result = { recoveredAfter(), 1, tokens - 1 }
  else
    local at = estimateGrant(waiting)
    -- The spare tokens that have to return first.
    if #times >= most then at = math.max(at, times[#times - most + 1]) end
    result = { recoveredAfter(), 0, tokens, at - now, waiting }
  end
elseif operation == 'complete' then
  -- One ms more than the window: both ends are read from clocks that round down.
  if redis.call('SREM', flight, ARGV[15]) == 1 then redis.call('ZADD', held, latest + window + 1, ARGV[15]) end
elseif operation == 'release' then
  redis.call('SREM', flight, ARGV[15])
  redis.call('ZREM', held, ARGV[15])
elseif operation == 'cancel' then
  dequeue(ARGV[15])
elseif operation == 'penalize' then
  local first = now >= fullRateAt() or not redis.call('HGET', state, 'slowed')
  if first then redis.call('HSET', state, 'slowed', digits(now)) end
  local blocked = math.max(number('blocked'), latest + tonumber(ARGV[15]))
  redis.call('HSET', state, 'blocked', digits(blocked))
  redis.call('HINCRBY', state, 'throttled', 1)
  -- Calls in flight together with the first throttled one are throttled too: they cut the limit once.
  local cutAt = tonumber(redis.call('HGET', state, 'cut_at') or -math.huge)
  if now >= cutAt + window then redis.call('HSET', state, 'cut_to', math.max(1, math.floor(currentLimit / 2))) end
  redis.call('HSET', state, 'cut_at', digits(math.max(cutAt, blocked)))
  result = { first and 1 or 0, limit(), blocked - now, fullRateAt() - now }
else
  return redis.error_reply('ERR unknown operation ' .. tostring(operation))
end

-- Idle state expires, but not before the last token, the block, a waiter's wake-up or a throttled stretch has ended, nor
-- when the wall clock, by which keys expire, is stepped ahead by less than a week.
local lastRelease = redis.call('ZRANGE', held, -1, -1, 'WITHSCORES')[2]
local wakeup = redis.call('ZRANGE', wakeups, -1, -1, 'WITHSCORES')[2]
local keepUntil = math.max(tonumber(lastRelease or '0'), tonumber(wakeup or '0') + overtakenAfter + expiresAfter,
  number('blocked'), fullRateAt(), now)
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, keepUntil - now + 604800000) end
return { wall, generation, now, creates and redis.call('HDEL', state, 'untold') or 0, result }
