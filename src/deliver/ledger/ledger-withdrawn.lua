-- A corrected edition replaces a run: the field `withdrawn:<run>` holds the decision as one line of JSON, followed by
-- the detail for the rows. From then on no delivery of the run begins, except notices to owners.

-- The decision about a row's run; nil if there is none, and for a notice.
local function withdrawalOf(rows, id)
  local row = cjson.decode(redis.call('HGET', rows, id .. ':row'))
  if row.target == 'notice' then return nil end
  return redis.call('HGET', rows, 'withdrawn:' .. row.run) or nil
end

-- Call it after a row has become `pending` or `refused`, in the same script.
local function withdrawIfReplaced(rows, id, at)
  local row = redis.call('HMGET', rows, id .. ':state', id .. ':decisions')
  if row[1] ~= 'pending' and row[1] ~= 'refused' then return end
  local withdrawal = withdrawalOf(rows, id)
  if not withdrawal then return end
  local decision, detail = string.match(withdrawal, '^([^\n]*)\n(.*)$')
  local decisions = row[2] and row[2] ~= '' and row[2] .. '\n' .. decision or decision
  redis.call('HSET', rows, id .. ':state', 'withdrawn', id .. ':detail', detail, id .. ':at', at,
    id .. ':decisions', decisions)
  redis.call('HINCRBY', rows, id .. ':epoch', 1)
end
