import { isDeepStrictEqual } from 'node:util';
import type { Pause, PauseTarget } from '../../queue/schedules/pauses.ts';
import type { AuditActor } from '../audit-log.ts';
import type { Deployment } from '../deployment/deployment.ts';

/**
 * Pauses the scheduled runs of an organization (`report: null`) or a report. Returns the active pause; an older pause
 * stays unchanged. Throws `redis.unreachable`.
 *
 * @param recordUnchanged whether the audit log also records the attempt if an older pause stays
 */
export async function pauseSchedules(
  { org, report }: PauseTarget,
  actor: AuditActor,
  { pauses, audit, clock }: Deployment,
  { recordUnchanged = false }: { readonly recordUnchanged?: boolean } = {},
): Promise<Pause> {
  const requested = { org, report, who: actor.by, why: actor.reason, since: clock.now(), key: null, run: null };
  const active = await pauses.put(requested);
  if (recordUnchanged || isDeepStrictEqual(active, requested)) {
    await audit.record(pauseEntry('schedule.paused', { org, report }, actor));
  }
  return active;
}

/**
 * Resumes the scheduled runs of an organization or a report. Returns the removed pauses. If there are none, nothing is
 * recorded. Throws `redis.unreachable`.
 */
export async function resumeSchedules(
  target: PauseTarget,
  actor: AuditActor,
  { pauses, audit }: Deployment,
): Promise<readonly Pause[]> {
  const removed = await pauses.lift(target, actor.by, actor.reason);
  if (removed.length > 0) await audit.record(pauseEntry('schedule.resumed', target, actor));
  return removed;
}

const pauseEntry = (
  event: 'schedule.paused' | 'schedule.resumed',
  { org, report }: PauseTarget,
  { by, from, reason }: AuditActor,
) => ({ event, who: by, from, org, report: report ?? undefined, why: reason });
