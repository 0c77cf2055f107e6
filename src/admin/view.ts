import type { RunRecord } from '../run/record.ts';

const instant = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** A run as the admin route shows it: the record with instants as ISO texts, and no word of how it was asked for. */
export const runView = (record: RunRecord) => ({
  id: record.id,
  org: record.org,
  report: record.report,
  state: record.state,
  slot: record.slot,
  trigger: record.trigger,
  priority: record.priority,
  period: record.period,
  deliver: record.deliver,
  digest: record.digest,
  created_at: instant(record.createdAt),
  started_at: instant(record.startedAt),
  finished_at: instant(record.finishedAt),
  sleeps_until: instant(record.until),
  calls: record.calls,
  files: record.files,
  deliveries: record.deliveries,
  error: record.error,
});
export type RunView = ReturnType<typeof runView>;
