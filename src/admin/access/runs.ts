import { createHash, randomUUID } from 'node:crypto';
import { DocketError } from '../../base/error.ts';
import type { Decisions } from '../../queue/decisions.ts';
import { ofThese } from '../../queue/delivery-page.ts';
import { type RunIds, resolveRunId } from '../../queue/short-id.ts';
import type { Trigger } from '../../queue/trigger.ts';
import { pageOf, readCursor } from '../../run/page.ts';
import type { RunRecord, RunStore } from '../../run/record.ts';
import type { Access } from '../access.ts';
import type { Audit, AuditEvent } from '../auth/audit.ts';
import type { Principal } from '../auth/tokens.ts';
import { doer, notThere, requireOperator, requireSeen } from './may.ts';
import { type ReportsPorts, reportNow } from './reports.ts';

export interface RunsPorts extends Pick<ReportsPorts, 'jobs' | 'lastGood'> {
  readonly trigger: Trigger;
  readonly runs: Pick<RunStore, 'list'> & RunIds;
  readonly decisions: Pick<Decisions, 'retry' | 'release' | 'cancel'>;
  readonly audit: Pick<Audit, 'tell'>;
}

/** Runs: asking for one, looking at them, deciding about one. */
export function runsAccess(
  ports: RunsPorts,
  principal: Principal,
): Pick<Access, 'trigger' | 'runs' | 'run' | 'decide'> {
  const run = (id: string): Promise<RunRecord> => visibleRun(ports, principal, id);
  const told = (event: AuditEvent, { id, org, report }: RunRecord, why?: string) =>
    ports.audit.tell({ event, ...doer(principal), run: id, org, report, why });
  return {
    trigger: async (org, report, { period, deliver, priority, again, idempotencyKey }) => {
      requireSeen(principal, org);
      const { version, faults } = await reportNow(ports, org, report);
      if (version === undefined && faults.length === 0) throw notThere();
      requireOperator(principal);
      if (version === undefined) {
        throw new DocketError(
          'definition.invalid',
          `The report ${org}/${report} has a fault, and no version of it is in force.`,
          {
            next: 'Correct its file; the report itself lists what is wrong.',
          },
        );
      }
      const { opened, record } = await ports.trigger({
        ...version,
        slot: { trigger: idempotencyKey === undefined ? randomUUID() : keyOf(principal, idempotencyKey) },
        trigger: 'on_demand',
        priority,
        ...(period === undefined ? {} : { period }),
        deliver,
        again,
        by: principal.name,
      });
      if (opened) await told('run.triggered', record);
      return { opened, record };
    },

    runs: async ({ org, report, states, since, until, after, limit }) => {
      if (org !== undefined) requireSeen(principal, org);
      return pageOf(ofThese(ports.runs, org === undefined ? principal.orgs : [org]), {
        ...(report === undefined ? {} : { report }),
        ...(states === undefined ? {} : { states }),
        ...(since === undefined ? {} : { since }),
        ...(until === undefined ? {} : { until }),
        ...(after === undefined ? {} : { after: readCursor(after) }),
        limit,
      });
    },

    run,

    decide: async (text, what, reason) => {
      const { id } = await run(text);
      requireOperator(principal);
      const record = await ports.decisions[what](id, { by: principal.name, reason });
      await told(EVENTS[what], record, reason);
      return record;
    },
  };
}

const EVENTS = { retry: 'run.retried', release: 'run.released', cancel: 'run.cancelled' } as const;

/** The run of this id, whole or short, if the principal may see it; throws `request.not_found`, and as `resolveRunId` does. */
export async function visibleRun(
  { runs }: { readonly runs: RunIds },
  principal: Principal,
  text: string,
): Promise<RunRecord> {
  const id = await resolveRunId(text, runs, principal.orgs);
  const record = id === undefined ? undefined : await runs.get(id);
  if (record === undefined) throw notThere();
  requireSeen(principal, record.org);
  return record;
}

/** A key is its sender's own: two clients that both count from 1 do not meet. */
const keyOf = ({ name }: Principal, key: string): string =>
  createHash('sha256')
    .update(JSON.stringify([name, key]))
    .digest('hex')
    .slice(0, 32);
