-- The same states as `TERMINAL_STATES` of run-record.ts.
local TERMINAL = {
  done = true,
  partly_delivered = true,
  held = true,
  awaiting_approval = true,
  cancelled = true,
  failed = true,
  skipped = true,
}
