-- Whether entries of indexes may be dropped: no legal hold is in force, as far as a process has read lately
-- (cache-document-2.lua). `key` is any key of Docket, or the prefix of all with its separator.
local function mayForget(key)
  local prefix = string.match(key, '^.-}:') or string.match(key, '^[^:]*:')
  return redis.call('EXISTS', prefix .. 'switches:unheld') == 1
end
