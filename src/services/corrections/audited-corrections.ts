import type { RunRecord } from '../../run/run-record.ts';
import type { AuditActor, AuditEvent, AuditLog } from '../audit-log.ts';
import type { Correction } from './correction.ts';
import type { CorrectionService, Sender } from './correction-service.ts';

interface Ports {
  readonly corrections: CorrectionService;
  readonly audit: AuditLog;
}

const record = (
  event: AuditEvent,
  { id, run }: Correction,
  { by, from, reason }: AuditActor,
  { audit }: Ports,
): Promise<void> =>
  audit.record({ event, who: by, from, run: run.id, org: run.org, report: run.report, why: `${id}: ${reason}` });

/** Sends a corrected edition, and records the decision in the audit log. Throws `correction.conflict`. */
export async function sendCorrection(
  correction: Correction,
  actor: AuditActor & Pick<Sender, 'subject'>,
  ports: Ports,
): Promise<{ readonly correction: Correction; readonly record: RunRecord }> {
  const { by, subject, reason } = actor;
  const sent = await ports.corrections.send(correction, { by, subject, reason });
  // Somebody may have sent it before, or at the same time: that decision stands, and is in the log.
  const { decision } = sent.correction;
  if (correction.state === 'open' && decision?.by === by && decision.reason === reason)
    await record('correction.sent', correction, actor, ports);
  return sent;
}

/** Dismisses a correction, and records the decision in the audit log. Throws `correction.conflict`. */
export async function dismissCorrection(correction: Correction, actor: AuditActor, ports: Ports): Promise<Correction> {
  const { by, reason } = actor;
  const dismissed = await ports.corrections.dismiss(correction, { by, reason });
  if (correction.state === 'open') await record('correction.dismissed', correction, actor, ports);
  return dismissed;
}
