-- Appends JSON to a JSON list without decoding it: cjson would encode an empty list as an object.
local function appendDecision(list, entry)
  local before = string.sub(list, 1, -2)
  if before ~= '[' then before = before .. ',' end
  return before .. entry .. ']'
end
