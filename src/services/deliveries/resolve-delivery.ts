import type { AuditActor, AuditLog } from '../audit-log.ts';
import type { DecisionService, DeliveryRow } from './decisions.ts';

/**
 * Resolves an undecided delivery, and records it in the audit log. Throws `delivery.not_found`, `delivery.conflict`,
 * `run.not_found`.
 */
export async function resolveDelivery(
  id: string,
  as: 'sent' | 'resend',
  { by, from, reason }: AuditActor,
  {
    decisions,
    audit,
  }: { readonly decisions: Pick<DecisionService, 'resolve'>; readonly audit: Pick<AuditLog, 'record'> },
): Promise<DeliveryRow> {
  const row = await decisions.resolve(id, as, { by, reason });
  const { run, org, report } = row;
  const why = `${as === 'sent' ? 'declared sent' : 'to be sent again'}: ${reason}`;
  await audit.record({ event: 'delivery.resolved', who: by, from, delivery: id, run, org, report, why });
  return row;
}
