import type { DeliveryRow } from '../queue/decisions.ts';
import type { RunRecord } from '../run/record.ts';

const instant = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** A run as the admin route shows it: the record with instants as ISO texts. */
export const runView = (record: RunRecord) => ({
  id: record.id,
  org: record.org,
  report: record.report,
  state: record.state,
  slot: record.slot,
  trigger: record.trigger,
  by: record.by ?? null,
  priority: record.priority,
  period: record.period,
  deliver: record.deliver,
  digest: record.digest,
  created_at: instant(record.createdAt),
  started_at: instant(record.startedAt),
  finished_at: instant(record.finishedAt),
  sleeps_until: instant(record.until),
  starts: record.starts,
  attempts: record.attempts,
  calls: record.calls,
  timings_ms: record.timings,
  token_wait_ms: record.tokenWaitMs,
  files: record.files,
  deliveries: record.deliveries,
  error: record.error,
  reopened: record.reopened.map(({ at, ...reopening }) => ({ ...reopening, at: instant(at) })),
  cancel: record.cancel === null ? null : { ...record.cancel, at: instant(record.cancel.at) },
});
export type RunView = ReturnType<typeof runView>;

/** A delivery as the admin route shows it. */
export const deliveryView = (row: DeliveryRow) => ({
  id: row.id,
  run: row.run,
  org: row.org,
  report: row.report,
  target: row.target,
  recipient: row.recipient,
  state: row.state,
  epoch: row.epoch,
  detail: row.detail,
  changed_at: instant(row.at),
  decisions: row.decisions.map(({ at, ...decision }) => ({ ...decision, at: instant(at) })),
});
export type DeliveryView = ReturnType<typeof deliveryView>;
