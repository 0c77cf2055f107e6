--[[
  Scans some records, and enters unfinished runs that are missing in the indexes. It is a script because a Cluster runs that
  on the node with these keys.

  KEYS[1]  unfinished runs   KEYS[2]  organizations   KEYS[3]  the index of all runs by time
  ARGV[1]  cursor of SCAN   ARGV[2]  pattern of the records' keys   ARGV[3]  length of their prefix   ARGV[4]  keys per scan
  ARGV[5]  prefix of the indexes by state   ARGV[6]  ttl, ms

  Returns { next cursor, ids of the runs entered }.
]]
-- @include ./run-index.lua
-- @include ./terminal-states.lua
local found = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[4], 'TYPE', 'hash')
local repaired = {}
for _, key in ipairs(found[2]) do
  local id = string.sub(key, ARGV[3] + 1)
  local stored = redis.call('HMGET', key, 'state', 'order')
  if stored[1] and stored[2] and not TERMINAL[stored[1]] and not redis.call('ZSCORE', KEYS[1], id) then
    local readable, run = pcall(cjson.decode, stored[2])
    if readable and type(run) == 'table' and run.org and run.report and tonumber(run.createdAt) then
      redis.call('ZADD', KEYS[1], run.createdAt, id)
      redis.call('ZADD', KEYS[2], 'GT', run.createdAt, run.org)
      for _, of in ipairs({ '', ':' .. run.org, ':' .. run.org .. '/' .. run.report }) do
        redis.call('ZADD', KEYS[3] .. of, run.createdAt, id)
        redis.call('PEXPIRE', KEYS[3] .. of, ARGV[6])
      end
      moveState(ARGV[5], stored[2], id, false, stored[1], tonumber(ARGV[6]))
      repaired[#repaired + 1] = id
    end
  end
end
return { found[1], repaired }
