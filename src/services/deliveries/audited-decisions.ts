import type { RunRecord } from '../../run/run-record.ts';
import type { AuditActor, AuditLog } from '../audit-log.ts';
import type { DecisionService, DeliveryRow } from './decisions.ts';

export type RunAction = 'retry' | 'release' | 'cancel';

interface Ports<Action extends keyof DecisionService> {
  readonly decisions: Pick<DecisionService, Action>;
  readonly audit: Pick<AuditLog, 'record'>;
}

const EVENTS = { retry: 'run.retried', release: 'run.released', cancel: 'run.cancelled' } as const;

/** Retries, releases or cancels a run, and records it in the audit log. Throws `run.not_found`, `run.conflict`. */
export async function decideRun(
  id: string,
  action: RunAction,
  { by, from, reason }: AuditActor,
  { decisions, audit }: Ports<RunAction>,
): Promise<RunRecord> {
  const record = await decisions[action](id, { by, reason });
  const { org, report } = record;
  await audit.record({ event: EVENTS[action], who: by, from, run: id, org, report, why: reason });
  return record;
}

/**
 * Resolves an undecided delivery, and records it in the audit log. Throws `delivery.not_found`, `delivery.conflict`,
 * `run.not_found`.
 */
export async function resolveDelivery(
  id: string,
  as: 'sent' | 'resend',
  { by, from, reason }: AuditActor,
  { decisions, audit }: Ports<'resolve'>,
): Promise<DeliveryRow> {
  const row = await decisions.resolve(id, as, { by, reason });
  const { run, org, report } = row;
  const why = `${as === 'sent' ? 'declared sent' : 'to be sent again'}: ${reason}`;
  await audit.record({ event: 'delivery.resolved', who: by, from, delivery: id, run, org, report, why });
  return row;
}
