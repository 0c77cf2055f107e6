--[[
  Activates versions of reports and removes reports, together with their schedules' cursors.

  KEYS[1]  active versions: a hash   KEYS[2]  their revision: a counter   KEYS[3]  cursors: a hash
  ARGV[1]  epoch ms   ARGV[2]  the activating process
  ARGV[3…]  for each report its name, digest (empty: remove it) and the names of its cursors, separated by line feeds

  Returns the names of reports that were rolled back to the version before the active one.
]]
local function lines(text)
  local all = {}
  for line in string.gmatch(text or '', '[^\n]+') do all[#all + 1] = line end
  return all
end
local changed, rolledBack = false, {}
for i = 3, #ARGV, 3 do
  local name, digest, cursors = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local stored = redis.call('HGET', KEYS[1], name)
  local readable, active = pcall(cjson.decode, stored or '')
  if not readable or type(active) ~= 'table' then active = {} end
  if digest == '' then
    if stored then
      changed = true
      redis.call('HDEL', KEYS[1], name)
      for _, cursor in ipairs(lines(active.cursors)) do redis.call('HDEL', KEYS[3], cursor) end
    end
  elseif active.digest ~= digest or active.cursors ~= cursors then
    changed = true
    if active.before == digest then rolledBack[#rolledBack + 1] = name end
    redis.call('HSET', KEYS[1], name, cjson.encode({
      digest = digest, since = tonumber(ARGV[1]), by = ARGV[2], before = active.digest or cjson.null, cursors = cursors
    }))
    local kept = {}
    for _, cursor in ipairs(lines(cursors)) do
      kept[cursor] = true
      redis.call('HSETNX', KEYS[3], cursor, ARGV[1])
    end
    for _, cursor in ipairs(lines(active.cursors)) do
      if not kept[cursor] then redis.call('HDEL', KEYS[3], cursor) end
    end
  end
end
if changed then redis.call('INCR', KEYS[2]) end
return rolledBack
