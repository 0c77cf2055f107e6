-- Finds jobs that no worker will process.
--[[
  KEYS[1]  prefix of the queue's keys   ARGV  ids of jobs

  Returns their ids.
]]
-- @include ./is-orphaned.lua
local orphaned = {}
for _, id in ipairs(ARGV) do
  if isOrphaned(KEYS[1], id) then orphaned[#orphaned + 1] = id end
end
return orphaned
