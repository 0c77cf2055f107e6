--[[
  The token bucket and the queue of one API key. Each call of this script runs one or more operations as one atomic step.

  GUARANTEES
    At most `calls` tokens are held at once. A token is held from its grant until its reply plus one window, and never
    longer than `hold` plus one window after the grant. So any window at the server holds at most `calls` dispatches.
    The queue is ordered by class (0 on demand, 1 scheduled, 2 backfill), then organizations round-robin, then arrival;
    after `starvationLimit` tokens in a row that passed a waiting lower class, the next one goes to that class.
    Spare calls (class 3, corrections) never join the queue: they get a token only while nobody waits and calls are not
    blocked. They hold at most a tenth of the tokens (at least one, at most MAX_SPARE), so a call of any other class never
    waits for more than these.
    Preparations (class 3 as well) take tokens in the same way, at most two thirds of the limit, and may pass waiting
    backfills, `starvationLimit` times in a row.
    Operations in one call have the same results as if they ran one after the other at the same instant.
    Limits may change between calls: held tokens count against the new limit and return by the new window. `inspect`
    changes nothing, and its caller learns nothing of the time.
    After a 429 the limit is halved, and grows by `recovery` with each window without another 429. The first 429 of such a
    stretch and the first acquire after it are each reported to one caller, whatever the number of workers.
    The bucket has its own time. It advances by the lesser of two measures: the advance of this Redis's wall clock since
    the last call, and the minimum that the caller's monotonic clock and earlier replies prove. So a wall clock set ahead
    returns no token early; after it is set back, time continues from where it was.
    If the first measure exceeds the second, the excess is added to every future instant that is set. An excess over
    MAX_EXCESS_MS is dropped: the bucket's time and all stored instants advance by it, so that nothing returns earlier.
    Stored instants are therefore never earlier than by the wall clock, which version 7 uses: both can share a bucket.
    A caller that does not know the bucket and is the first on its machine drops all time since the last call: held tokens
    then return later by that time, at most by a window.
    If this Redis lost the bucket, or restored it to an earlier state, all tokens count as held.
    Neither API keys nor other secrets are passed in.
    memory-budget.ts is the same state machine; one test suite compares the two.

  KEYS (all with the same hash tag, so in one slot of a cluster; names and fields are stored; version 7 uses the first
  seven, versions 8 and 9 use all)
    1 held    zset   token -> ms at which it returns (in flight: the latest such instant); returned ones stay for a while
    2 flight  set    tokens without a reply, and '', so that the set never becomes empty and keeps its expiry
    3 line    zset   the queue: waiters, all with score 0, so ordered by name: <class>|<round>|<arrival>|<id>
    4 told    zset   id -> ms at which the waiter is expected to acquire again
    5 place   hash   id -> its name in `line`
    6 rounds  hash   <class> -> round being served; <class>:<org> -> round which that organization joined last; out of
                     date while nobody waits
    7 state   hash   last, blocked, throttled, cut_to, cut_at, slowed, arrivals, passes, window, life (generation), wall, mine,
                     overtaken: tokens that preparations took past waiting backfills since a backfill last got one,
                     ahead, anew: 1 if it was lost before, untold: 1 until that is reported, kept: ms until which keys stay
    8 clocks  hash   machine -> ms from its monotonic clock to the bucket's time
  Version 7 uses this Redis's wall clock instead of the bucket's time.

  ARGV
    1 calls   2 window ms   3 ms until an overdue waiter is overtaken   4 ms more until it expires   5 starvationLimit
    6 recovery   7 machine   8 its monotonic clock, ms, when the caller sent this   9 generation that the caller knows, or ''
    10 ms from 8 to the bucket's time   11 the latest bucket time that the caller saw   12 1: store 10 for its machine
    13 what missing state means: '?', 'new' or 'lost'   14 ms for which all tokens of a lost bucket are held
    15 onwards: operations, each with its name and then its arguments:
    acquire  id  token  org  class  hold ms       -> {recovered, 1, tokens left, {waiters that can take them: ids}}
                                                   | {recovered, 0, tokens, ms until the expected grant, waiters ahead}
                                                  recovered: ms since the first 429 of a stretch that has ended since, or -1
    spare    id  token  org  class  hold ms       -> like acquire; waiters ahead: of all classes. Without a grant it changes
                                                  nothing
    prepare  id  token  org  class  hold ms       -> like spare; waiters ahead: those that a preparation may not pass
    complete token     release token     cancel id -> {}
    penalize for ms       -> {1 if it is the first of its stretch, limit, blocked for ms, slowed for ms}
    inspect               -> {tokens, in flight, waiting, blocked for ms or 0, throttled, limit, slowed for ms or 0}; must be alone
  Each reply: {wall clock of this Redis in ms, generation, the bucket's time, 1 if it was lost and is reset, {the results
  above, one for each operation}}.
  Without state, operations that create it reply {wall clock} and do nothing if 13 is '?'. The others do nothing and get
  generation '', as `inspect` always does.
  Instants are passed and returned as ms from now.
  Acquiring twice with the same token (a command that was resent) returns the same grant twice.

  COMMANDS decide what a call of the API costs in Redis. So each operation reads and writes only what it needs, and what
  several operations need is read and written once.
]]
-- How much (ms) the durations of requests may differ before time is dropped.
local MAX_EXCESS_MS = 500
-- The most tokens that spare calls hold at once. Only their tokens have names with the prefix SPARE.
local MAX_SPARE = 3
local SPARE = 'spare!'
-- Only tokens of preparations have names with this prefix. Earlier versions count them as tokens of runs.
local PREPARATION = 'prep!'
-- The class of backfills in the queue.
local BACKFILL = '2'
-- State is kept for this long after its last use, and its expiry is renewed once a day.
local KEEP_MS, DAY_MS = 604800000, 86400000
-- How many returned tokens stay in `held` before all are removed together.
local MAX_RETURNED = 8
-- Up to this limit all held tokens are read. Above it they are only counted, and read to estimate a grant.
local MAX_READ = 64
-- How many waiters a grant names for the tokens left.
local MAX_NEXT = 10
local ARITY = { acquire = 5, spare = 5, prepare = 5, complete = 1, release = 1, cancel = 1, penalize = 1, inspect = 0 }
local held, flight, queue, wakeups, names, rounds, state, clocks =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local calls, window, overtakenAfter, expiresAfter, starvationLimit, recovery = tonumber(ARGV[1]), tonumber(ARGV[2]),
  tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local machine, reading, knownGeneration = ARGV[7], tonumber(ARGV[8]), ARGV[9]

local operations, creates, inspects, acquiring, newTokens = {}, false, false, {}, {}
local at = 15
while ARGV[at] do
  local name = ARGV[at]
  local arity = ARITY[name]
  if not arity then return redis.error_reply('ERR unknown operation ' .. tostring(name)) end
  operations[#operations + 1] = { name, unpack(ARGV, at + 1, at + arity) }
  local takes = name == 'acquire' or name == 'spare' or name == 'prepare'
  creates = creates or takes or name == 'penalize'
  if takes then newTokens[#newTokens + 1] = ARGV[at + 2] end
  inspects = inspects or name == 'inspect'
  if name == 'acquire' then acquiring[#acquiring + 1] = ARGV[at + 1] end
  at = at + 1 + arity
end

-- 14 digits suffice for milliseconds, rounds and arrivals. Numbers of equal length sort correctly as text.
local function digits(number) return string.format('%014d', number) end

local FIELDS = { 'last', 'life', 'ahead', 'wall', 'mine', 'anew', 'untold', 'cut_to', 'cut_at', 'slowed', 'blocked', 'throttled',
  'arrivals', 'passes', 'window', 'kept', 'overtaken' }
local stored, changed = {}, {}
for index, value in ipairs(redis.call('HMGET', state, unpack(FIELDS))) do stored[FIELDS[index]] = value or nil end
local function number(field) return tonumber(stored[field] or '0') end
local function set(field, value)
  stored[field] = value
  changed[field] = value
end
local function unset(field)
  if stored[field] then redis.call('HDEL', state, field) end
  stored[field], changed[field] = nil, nil
end

local time = redis.call('TIME')
local wall = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local exists = stored.last ~= nil or stored.life ~= nil
if not exists and creates and ARGV[13] == '?' then return { wall } end
if not exists and not creates then
  local nothing = {}
  for index in ipairs(operations) do nothing[index] = inspects and { calls, 0, 0, 0, 0, calls, 0 } or {} end
  return { wall, '', 0, 0, nothing }
end

local generation = stored.life
if not generation and not inspects then
  -- The bucket is new or from version 7, so clocks of an earlier generation do not apply.
  -- Hashed, because a machine's id may be longer than 64 bytes, and Redis then stores the hash less compactly.
  generation = redis.sha1hex(time[1] .. '.' .. time[2] .. ' ' .. ARGV[8] .. ' ' .. machine)
  -- Before DEL: a Redis that is out of memory refuses it as a first write, but would accept it after a deletion.
  redis.call('HSET', state, 'life', generation)
  redis.call('DEL', clocks)
end
local last = exists and number('last') or wall
local wallTime = last + number('ahead') + math.max(0, wall - number('wall'))
-- Version 7 has written in between, by the wall clock.
if last ~= number('mine') then wallTime = math.max(last, wall, number('mine') + number('ahead')) end
-- `inspect` without a known clock shows the state by the wall clock.
local provenTime = inspects and wallTime or last
local wasLost = not exists and ARGV[13] == 'lost'
local dropped = 0
if exists and knownGeneration == generation then
  -- If the caller has seen a later state than the stored one, Redis was restored to an earlier state.
  wasLost = tonumber(ARGV[11]) > last
  provenTime = reading + tonumber(ARGV[10])
  -- If more time has passed than the wall clock shows, it was set back. The difference is dropped as well.
  if provenTime > wallTime + 5 then dropped = provenTime - wallTime end
else
  -- The generation that the caller knew is gone, and whoever created this one did not detect that.
  if exists and knownGeneration ~= '' and stored.anew ~= '1' then wasLost = true end
  -- A new process uses the clock offset that others on its machine have stored.
  local offset = redis.call('HGET', clocks, machine)
  if offset then provenTime = reading + tonumber(offset) end
end
local now = math.max(last, math.min(wallTime, provenTime))
-- Upper bound of the time. Future instants count from here.
local latest = wallTime

local function limit()
  local to = stored.cut_to
  if not to then return calls end
  return math.min(calls, tonumber(to) + math.floor(math.max(0, now - number('cut_at')) / window) * recovery)
end
-- When the full limit is restored unless another 429 comes, which ends the stretch. 0 without a stretch.
local function fullRateAt()
  local to = stored.cut_to
  if not to then return 0 end
  return number('cut_at') + math.max(0, math.ceil((calls - tonumber(to)) / recovery)) * window
end

-- `inspect` writes nothing: its caller may not know the time, and must not delay callers that do.
if inspects then
  local out = redis.call('ZRANGEBYSCORE', held, '(' .. now, '+inf')
  local inFlight = 0
  for _, token in ipairs(out) do inFlight = inFlight + redis.call('SISMEMBER', flight, token) end
  local expired = redis.call('ZCOUNT', wakeups, '-inf', '(' .. (now - overtakenAfter - expiresAfter))
  return { wall, '', 0, 0, { {
    wasLost and 0 or math.max(0, limit() - #out), inFlight, redis.call('ZCARD', queue) - expired,
    math.max(0, number('blocked') - now), number('throttled'), limit(), math.max(0, fullRateAt() - now),
  } } }
end

-- Moves all instants in a sorted set.
local function shift(instants, byMs)
  local entries = redis.call('ZRANGE', instants, 0, -1, 'WITHSCORES')
  for first = 1, #entries, 2000 do
    local moved = {}
    for index = first, math.min(#entries, first + 1999), 2 do
      moved[#moved + 1] = tonumber(entries[index + 1]) + byMs
      moved[#moved + 1] = entries[index]
    end
    redis.call('ZADD', instants, unpack(moved))
  end
end

if latest > now + MAX_EXCESS_MS then dropped = latest - now end
if dropped > 0 then
  -- All instants move with it: otherwise version 7, which uses the wall clock, would take them for past.
  now = now + dropped
  latest = now
  for _, instants in ipairs({ held, wakeups }) do shift(instants, dropped) end
  for _, field in ipairs({ 'blocked', 'cut_at', 'slowed' }) do
    if stored[field] then set(field, number(field) + dropped) end
  end
end
set('last', now)
set('mine', now)
set('wall', wall)
set('ahead', latest - now)
-- State is needed until the last token, the block, the last waiter's wake-up and the throttled stretch have ended.
local needed = now
local function keepUntil(instant) needed = math.max(needed, instant) end
local function expire(key) redis.call('PEXPIRE', key, math.max(needed + KEEP_MS, number('kept')) + DAY_MS - now) end

if knownGeneration == generation and ARGV[12] == '1' then
  redis.call('HSET', clocks, machine, ARGV[10])
  if redis.call('HLEN', clocks) > 64 then redis.call('DEL', clocks) end
  expire(clocks)
end
if wasLost then
  set('anew', 1)
  set('untold', 1)
  for token = 1, calls do redis.call('ZADD', held, latest + tonumber(ARGV[14]), 'lost#' .. token) end
  keepUntil(latest + tonumber(ARGV[14]))
  stored.kept = nil
end

-- Held tokens return one window after their reply. If the window has changed, the instants move by the difference.
if tonumber(stored.window) ~= window then
  if stored.window then
    -- Removes tokens that had already returned by the old window.
    redis.call('ZREMRANGEBYSCORE', held, '-inf', last)
    shift(held, window - number('window'))
  end
  set('window', ARGV[2])
end

-- Held tokens with the instants at which they return, their number, and tokens that have returned. Read only if needed.
local releases, heldCount, returned, noneHeld, isPart = {}, 0, {}, false, false
local function readAllHeld()
  local tokens = redis.call('ZRANGE', held, 0, -1, 'WITHSCORES')
  noneHeld, isPart = #tokens == 0, false
  releases, heldCount, returned = {}, 0, {}
  for index = 1, #tokens, 2 do
    local release = tonumber(tokens[index + 1])
    if release > now then
      releases[tokens[index]] = release
      heldCount = heldCount + 1
    else
      returned[#returned + 1] = tokens[index]
    end
  end
end
local function readHeld()
  if calls <= MAX_READ then return readAllHeld() end
  isPart = true
  returned = redis.call('ZRANGEBYSCORE', held, '-inf', now)
  local count = redis.call('ZCARD', held)
  noneHeld, heldCount = count == 0, count - #returned
  for index, release in ipairs(redis.call('ZMSCORE', held, unpack(newTokens))) do
    if release and tonumber(release) > now then releases[newTokens[index]] = tonumber(release) end
  end
end
local currentLimit
local function free() return math.max(0, currentLimit - heldCount) end
local function hold(token, forMs)
  local release = latest + forMs + window + 1
  redis.call('ZADD', held, release, token)
  -- If two were added, the set is new.
  if redis.call('SADD', flight, token, '') == 2 then expire(flight) end
  if noneHeld then expire(held) end
  noneHeld = false
  releases[token] = release
  heldCount = heldCount + 1
  keepUntil(release)
end

local function write(command, key, values)
  local flat = {}
  for name, value in pairs(values) do
    if command == 'ZADD' then name, value = value, name end
    flat[#flat + 1] = name
    flat[#flat + 1] = value
  end
  if #flat > 0 then redis.call(command, key, unpack(flat)) end
end

-- The last name in the queue (false if nobody waits), and the overdue waiters by id.
local lastName
local overdue = {}
local function readLast() lastName = redis.call('ZRANGE', queue, -1, -1)[1] or false end
-- id -> its name in the queue, false if it does not wait. Read for all waiters that acquire in this call.
local nameOf, joined, toTell = {}, {}, {}
-- Names that joined in this call and are not in `queue` yet, so that they are written together.
local unwritten = {}
local function writeQueue()
  if #unwritten == 0 then return end
  local entries = {}
  for _, name in ipairs(unwritten) do
    entries[#entries + 1] = 0
    entries[#entries + 1] = name
  end
  redis.call('ZADD', queue, unpack(entries))
  unwritten = {}
end

local function dequeue(id)
  local name = nameOf[id]
  if name == nil then name = redis.call('HGET', names, id) end
  if name then
    writeQueue()
    redis.call('ZREM', queue, name)
  end
  redis.call('HDEL', names, id)
  redis.call('ZREM', wakeups, id)
  nameOf[id], joined[id], toTell[id], overdue[id] = false, nil, nil, nil
  if name and name == lastName then readLast() end
end

-- Reads the overdue waiters and the names of those that acquire, and removes expired waiters.
local function readWaiters()
  readLast()
  if not lastName then
    for _, id in ipairs(acquiring) do nameOf[id] = false end
    return
  end
  local late = redis.call('ZRANGEBYSCORE', wakeups, '-inf', '(' .. (now - overtakenAfter), 'WITHSCORES')
  local ids = { unpack(acquiring) }
  for index = 1, #late, 2 do ids[#ids + 1] = late[index] end
  for first = 1, #ids, 1000 do
    local last = math.min(#ids, first + 999)
    for offset, name in ipairs(redis.call('HMGET', names, unpack(ids, first, last))) do
      nameOf[ids[first + offset - 1]] = name
    end
  end
  for index = 1, #late, 2 do
    local id = late[index]
    if tonumber(late[index + 1]) < now - overtakenAfter - expiresAfter then dequeue(id)
    else overdue[id] = nameOf[id] end
  end
end

-- Fields of `rounds`. After an acquire that found nobody waiting, those in Redis are out of date.
local roundsAre, changedRounds, outOfDate, isNewQueue = {}, {}, false, false
local function forgetRounds()
  roundsAre, changedRounds, outOfDate = {}, {}, true
  if stored.passes then set('passes', 0) end
  if number('overtaken') > 0 then set('overtaken', 0) end
end
local function round(field)
  if roundsAre[field] == nil then roundsAre[field] = not outOfDate and redis.call('HGET', rounds, field) or false end
  return tonumber(roundsAre[field] or nil)
end
local function setRound(field, value)
  isNewQueue = isNewQueue or outOfDate
  roundsAre[field], changedRounds[field] = value, value
end

-- The waiter's name in the queue. If it is not in it: a name behind its organization's last waiter, and its round.
local function nameFor(id, org, class)
  if not lastName then forgetRounds() end
  local name = nameOf[id]
  if name and string.sub(name, 1, 1) == class then return name end
  if name then dequeue(id) end
  local own = math.max(round(class) or 0, (round(class .. ':' .. org) or -1) + 1)
  set('arrivals', number('arrivals') + 1)
  return class .. '|' .. digits(own) .. '|' .. digits(stored.arrivals) .. '|' .. id, own
end
local function join(id, org, class, name, own)
  isNewQueue = isNewQueue or not lastName
  unwritten[#unwritten + 1] = name
  if not lastName or name > lastName then lastName = name end
  setRound(class .. ':' .. org, own)
  nameOf[id], joined[id] = name, name
end

-- The number of waiters in front of `name`, without overdue ones.
local function waitersAhead(name, isNew)
  if not lastName then return 0 end
  local present
  if isNew then
    present = redis.call('ZLEXCOUNT', queue, '-', '(' .. name)
    for _, other in ipairs(unwritten) do
      if other < name then present = present + 1 end
    end
  else
    writeQueue()
    present = redis.call('ZRANK', queue, name)
  end
  for _, other in pairs(overdue) do
    if other and other < name then present = present - 1 end
  end
  if number('passes') < starvationLimit then return present end
  writeQueue()
  local first = redis.call('ZRANGE', queue, 0, 0)[1]
  if name < first then first = name end
  local lower = '[' .. (tonumber(string.sub(first, 1, 1)) + 1)
  local starving = redis.call('ZRANGEBYLEX', queue, lower, '+', 'LIMIT', 0, 1)[1]
  if isNew and '[' .. name >= lower and (not starving or name < starving) then starving = name end
  if not starving then return present end
  if starving == name then return 0 end
  -- <class>|<14 digits>|<14 digits>|<id>
  if overdue[string.sub(starving, 33)] then return present end
  if name < starving then return present + 1 end
  return present
end

-- When a waiter with `before` others ahead can expect its token.
local function estimateGrant(before)
  if isPart then readAllHeld() end
  local times = {}
  for _ = 1, free() do times[#times + 1] = now end
  -- The earliest that a call in flight can be answered is now.
  for _, release in pairs(releases) do times[#times + 1] = math.min(release, latest + window + 1) end
  table.sort(times)
  -- If more tokens are held than the current limit, the first ones that return are not granted again.
  local surplus = math.max(0, #times - currentLimit)
  local grantAt = (times[surplus + before % currentLimit + 1] or now) + math.floor(before / currentLimit) * window
  return math.max(grantAt, number('blocked'), now + 1)
end

local function countPasses(class)
  local passes = 0
  if lastName and string.sub(lastName, 1, 1) > class then
    writeQueue()
    local first = redis.call('ZRANGE', queue, 0, 0)[1]
    if string.sub(first, 1, 1) >= class then passes = number('passes') + 1 end
  end
  if passes ~= number('passes') then set('passes', passes) end
end

-- Ms since the first 429 of a stretch that has ended; -1 without one. It is reported once.
local function recoveredAfter()
  local since = stored.slowed
  if not since or now < fullRateAt() then return -1 end
  unset('slowed')
  return now - tonumber(since)
end

-- Ids of the first waiters that can take one of `tokens` each, without overdue ones.
local function firstWaiters(tokens)
  local first = {}
  if tokens == 0 or not lastName then return first end
  writeQueue()
  tokens = math.min(tokens, MAX_NEXT)
  local last = tokens - 1
  for _, other in pairs(overdue) do
    if other then last = last + 1 end
  end
  for _, name in ipairs(redis.call('ZRANGE', queue, 0, last)) do
    -- <class>|<14 digits>|<14 digits>|<id>
    local id = string.sub(name, 33)
    if not overdue[id] and #first < tokens then first[#first + 1] = id end
  end
  return first
end

local perform = {}

function perform.acquire(id, token, org, class, holdMs)
  if releases[token] then return { -1, 1, free(), {} } end
  local name, own = nameFor(id, org, class)
  overdue[id] = nil
  local before, tokens = waitersAhead(name, own ~= nil), free()
  if before < tokens and now >= number('blocked') then
    if own == nil then dequeue(id) end
    hold(token, tonumber(holdMs))
    if lastName then
      if own then setRound(class .. ':' .. org, own) end
      local served = tonumber(string.sub(name, 3, 16))
      if served > (round(class) or 0) then setRound(class, served) end
    end
    countPasses(class)
    if class == BACKFILL and number('overtaken') > 0 then set('overtaken', 0) end
    return { recoveredAfter(), 1, tokens - 1, firstWaiters(tokens - 1) }
  end
  if own then join(id, org, class, name, own) end
  local grantAt = estimateGrant(before)
  toTell[id] = grantAt
  keepUntil(grantAt + overtakenAfter + expiresAfter)
  return { recoveredAfter(), 0, tokens, grantAt - now, before }
end

-- Grants a token to a call that never queues, if fewer than `most` with this prefix are held and `waiting` is 0.
local function takeOrComeAgain(token, holdMs, prefix, most, waiting, onGrant)
  if isPart then readAllHeld() end
  local times = {}
  for name, release in pairs(releases) do
    if string.sub(name, 1, #prefix) == prefix then times[#times + 1] = release end
  end
  table.sort(times)
  local tokens = free()
  if waiting == 0 and tokens > 0 and #times < most and now >= number('blocked') then
    hold(token, tonumber(holdMs))
    if onGrant then onGrant() end
    return { recoveredAfter(), 1, tokens - 1, {} }
  end
  local grantAt = estimateGrant(waiting)
  -- Tokens of its own class have to return first.
  if #times >= most then grantAt = math.max(grantAt, times[#times - most + 1] or now) end
  return { recoveredAfter(), 0, tokens, grantAt - now, waiting }
end

function perform.spare(_, token, _, _, holdMs)
  if releases[token] then return { -1, 1, free(), {} } end
  writeQueue()
  local waiting = lastName and redis.call('ZCARD', queue) or 0
  return takeOrComeAgain(token, holdMs, SPARE, math.max(1, math.min(MAX_SPARE, math.floor(currentLimit / 10))), waiting)
end

function perform.prepare(_, token, _, _, holdMs)
  if releases[token] then return { -1, 1, free(), {} } end
  writeQueue()
  local waiting, overtakes = 0, false
  if lastName then
    -- The queue is ordered by class: if its first waiter is a backfill, all are.
    local first = redis.call('ZRANGE', queue, 0, 0)[1]
    overtakes = string.sub(first, 1, 1) == BACKFILL and number('overtaken') < starvationLimit
    if not overtakes then waiting = redis.call('ZCARD', queue) end
  elseif number('overtaken') > 0 then set('overtaken', 0) end
  return takeOrComeAgain(token, holdMs, PREPARATION, math.floor(currentLimit * 2 / 3), waiting, function()
    if overtakes then set('overtaken', number('overtaken') + 1) end
  end)
end

function perform.complete(token)
  -- One ms more than the window, because both ends are read from clocks that round down. Never later than without a reply.
  local release = latest + window + 1
  redis.call('SREM', flight, token)
  redis.call('ZADD', held, 'XX', 'LT', release, token)
  if releases[token] then releases[token] = math.min(releases[token], release) end
  return {}
end

function perform.release(token)
  redis.call('SREM', flight, token)
  redis.call('ZREM', held, token)
  if isPart then heldCount = redis.call('ZCOUNT', held, '(' .. now, '+inf')
  elseif releases[token] then heldCount = heldCount - 1 end
  releases[token] = nil
  return {}
end

function perform.cancel(id)
  dequeue(id)
  return {}
end

function perform.penalize(forMs)
  local first = now >= fullRateAt() or not stored.slowed
  if first then set('slowed', now) end
  local blocked = math.max(number('blocked'), latest + tonumber(forMs))
  set('blocked', blocked)
  set('throttled', number('throttled') + 1)
  -- Calls that were in flight together with the first throttled one are throttled too. Together they cut the limit once.
  local cutAt = tonumber(stored.cut_at or -math.huge)
  if now >= cutAt + window then set('cut_to', math.max(1, math.floor(currentLimit / 2))) end
  set('cut_at', math.max(cutAt, blocked))
  keepUntil(math.max(blocked, fullRateAt()))
  return { first and 1 or 0, limit(), blocked - now, fullRateAt() - now }
end

if #newTokens > 0 then
  readHeld()
  readWaiters()
end
local results = {}
for index, operation in ipairs(operations) do
  currentLimit = limit()
  results[index] = perform[operation[1]](unpack(operation, 2))
end

-- Writes what the operations have collected.
writeQueue()
if outOfDate and next(changedRounds) then redis.call('DEL', rounds) end
write('HSET', rounds, changedRounds)
write('HSET', names, joined)
write('ZADD', wakeups, toTell)
if #returned > MAX_RETURNED then
  redis.call('ZREMRANGEBYSCORE', held, '-inf', now)
  for index = 1, #returned, 1000 do
    redis.call('SREM', flight, unpack(returned, index, math.min(#returned, index + 999)))
  end
end
-- Idle state expires, but not before all of it has ended. Keys expire by the wall clock: setting it ahead by less than a
-- week does not expire them.
if isNewQueue then
  for _, key in ipairs({ queue, wakeups, names, rounds }) do expire(key) end
end
if not stored.kept or needed + KEEP_MS > number('kept') then
  keepUntil(tonumber(redis.call('ZRANGE', held, -1, -1, 'WITHSCORES')[2] or 0))
  keepUntil(tonumber(redis.call('ZRANGE', wakeups, -1, -1, 'WITHSCORES')[2] or 0) + overtakenAfter + expiresAfter)
  keepUntil(math.max(number('blocked'), fullRateAt()))
  set('kept', needed + KEEP_MS + DAY_MS)
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, number('kept') - now) end
end
local untold = 0
if creates and stored.untold then
  untold = 1
  unset('untold')
end
write('HSET', state, changed)
return { wall, generation, now, untold, results }
