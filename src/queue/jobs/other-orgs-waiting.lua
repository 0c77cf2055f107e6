--[[
  Whether the next 500 jobs include one of another organization.

  KEYS[1]  BullMQ's prioritized jobs: a sorted set
  ARGV[1]  prefix of BullMQ's job keys   ARGV[2]  the organization

  Returns 1 or 0.
]]
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, 499)) do
  local org = redis.call('HGET', ARGV[1] .. id, 'name')
  if org and org ~= ARGV[2] then return 1 end
end
return 0
