import { createHash } from 'node:crypto';
import type { Schedule } from './schedule.ts';

/** What six bytes of a hash can say: 2^48 places. */
const PLACES = 2 ** 48;

/**
 * How long after its slot a run begins, ms: at least 0, less than the schedule's `jitter`. Always the same for one slot,
 * whoever asks; another slot of the report begins at another offset. The slot keeps its nominal instant.
 * @param slot epoch ms
 */
export function jitterMs(org: string, report: string, slot: number, { jitter = 0 }: Pick<Schedule, 'jitter'>): number {
  const hash = createHash('sha256')
    .update(JSON.stringify([org, report, slot]))
    .digest();
  return Math.floor((hash.readUIntBE(0, 6) / PLACES) * jitter * 1000);
}
