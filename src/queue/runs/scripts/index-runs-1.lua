--[[
  Enters runs and their deliveries into the search indexes if they are missing there: older versions of Docket do not write
  these indexes.

  KEYS[1]  recipients   KEYS[2]  reports with runs   KEYS[3]  first days of periods
  ARGV[1]  prefix of the keys, with its separator   ARGV[2]  ttl of records and rows, ms
  ARGV[3]  1: enter all of these runs, because an index may have been lost; 0: only those not marked as indexed
  ARGV[4…]  ids of runs

  Returns the number of runs entered.
]]
-- @include ./search-index.lua
-- @include ../../../deliver/ledger/recipient-index.lua
local prefix, ttl, all = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'

local function decode(text)
  local readable, value = pcall(cjson.decode, text or '')
  return readable and type(value) == 'table' and value or nil
end

local function enterDeliveries(rows, id, order)
  local fields = redis.call('HGETALL', rows)
  local at = {}
  for index = 1, #fields, 2 do
    if string.sub(fields[index], -3) == ':at' then at[string.sub(fields[index], 1, -4)] = fields[index + 1] end
  end
  for index = 1, #fields, 2 do
    if string.sub(fields[index], -4) == ':row' then
      local row = decode(fields[index + 1])
      local changed = at[string.sub(fields[index], 1, -5)]
      if row and row.run == id and row.org and row.recipient and changed then
        enterRecipient(prefix, row.org, row.recipient, id, createdAtOf(order, changed), changed, ttl)
      end
    end
  end
end

local entered = 0
for i = 4, #ARGV do
  local id = ARGV[i]
  local record, rows = prefix .. 'record:' .. id, prefix .. 'deliveries:{' .. string.sub(id, 1, 16) .. '}'
  local stored = redis.call('HMGET', record, 'order', 'indexed')
  local counts = redis.call('HMGET', rows, 'count', 'indexed')
  local missesRun = stored[1] and (all or not stored[2])
  local missesRows = counts[1] and (all or counts[1] ~= counts[2])
  if missesRun then
    local order = decode(stored[1])
    local mark = '""'
    if order and order.org and order.report and tonumber(order.createdAt) then
      enterRun(prefix, order, id, ttl)
      mark = indexMark(order)
    end
    redis.call('HSET', record, 'indexed', mark)
  end
  if missesRows then
    enterDeliveries(rows, id, stored[1])
    redis.call('HSET', rows, 'indexed', counts[1])
  end
  if missesRun or missesRows then entered = entered + 1 end
end
if entered > 0 then redis.call('PEXPIRE', prefix .. 'recipients', string.format('%.0f', 2 * ttl)) end
return entered
