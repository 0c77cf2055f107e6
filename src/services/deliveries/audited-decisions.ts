import type { RunRecord } from '../../run/run-record.ts';
import type { AuditActor, AuditEntry, AuditLog } from '../audit-log.ts';
import type { DecisionService, DeliveryRow } from './decisions.ts';

export type RunAction = 'retry' | 'release' | 'cancel';

interface Ports<Action extends keyof DecisionService> {
  readonly decisions: Pick<DecisionService, Action>;
  readonly audit: AuditLog;
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
  actor: AuditActor,
  { decisions, audit }: Ports<'resolve'>,
): Promise<DeliveryRow> {
  const { by, reason } = actor;
  const row = await decisions.resolve(id, as, { by, reason });
  await audit.record(resolutionEntry(row, as, actor));
  return row;
}

/** Resolves several deliveries of a run (`DecisionService.resolveMany`), and records each in the audit log. */
export async function resolveDeliveries(
  run: string,
  deliveries: readonly string[] | 'all',
  as: 'sent' | 'resend',
  actor: AuditActor,
  { decisions, audit }: Ports<'resolveMany'>,
): Promise<readonly DeliveryRow[]> {
  const { by, reason } = actor;
  const rows = await decisions.resolveMany(run, deliveries, as, { by, reason });
  for (const row of rows) await audit.record(resolutionEntry(row, as, actor));
  return rows;
}

function resolutionEntry(
  { id: delivery, run, org, report }: DeliveryRow,
  as: 'sent' | 'resend',
  { by: who, from, reason }: AuditActor,
): AuditEntry {
  const why = `${as === 'sent' ? 'declared sent' : 'to be sent again'}: ${reason}`;
  return { event: 'delivery.resolved', who, from, delivery, run, org, report, why };
}
