-- Whether indexes may drop entries: no legal hold is on, as far as a process has recently read (cache-document-2.lua).
-- `key` is any key of Docket, or the common prefix with its separator.
local function mayForget(key)
  local prefix = string.match(key, '^.-}:') or string.match(key, '^[^:]*:')
  return redis.call('EXISTS', prefix .. 'switches:unheld') == 1
end
