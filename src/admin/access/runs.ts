import { createHash, randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import type { LiveProgressStore } from '../../queue/runs/live-progress.ts';
import type { RunIdLookup } from '../../queue/runs/run-ids.ts';
import { listRunPage, parseRunCursor } from '../../run/run-page.ts';
import type { RunRecord, RunStore } from '../../run/run-record.ts';
import type { AuditEvent, AuditLog } from '../../services/audit-log.ts';
import type { DecisionService } from '../../services/deliveries/decisions.ts';
import { restrictToOrgs } from '../../services/deliveries/query-deliveries.ts';
import { resolveRunId } from '../../services/runs/resolve-id.ts';
import type { TriggerRun } from '../../services/runs/trigger-run.ts';
import { watchRun } from '../../services/runs/watch-run.ts';
import type { Principal } from '../auth/tokens.ts';
import type { Access } from './access.ts';
import { assertOperator, assertVisible, auditActor, notFoundError } from './permissions.ts';
import { currentReport, type ReportsPorts } from './reports.ts';

export interface RunsPorts extends Pick<ReportsPorts, 'jobs' | 'lastGood'> {
  readonly trigger: TriggerRun;
  readonly runs: Pick<RunStore, 'list'> & RunIdLookup;
  readonly decisions: Pick<DecisionService, 'retry' | 'release' | 'cancel'>;
  readonly audit: Pick<AuditLog, 'record'>;
}

/** Runs: asking for one, looking at them, deciding about one. */
export function runsAccess(
  ports: RunsPorts,
  principal: Principal,
): Pick<Access, 'trigger' | 'runs' | 'run' | 'decide'> {
  const run = (id: string): Promise<RunRecord> => getVisibleRun(ports, principal, id);
  const told = (event: AuditEvent, { id, org, report }: RunRecord, why?: string) =>
    ports.audit.record({ event, ...auditActor(principal), run: id, org, report, why });
  return {
    trigger: async (org, report, { period, deliver, priority, again, idempotencyKey }) => {
      assertVisible(principal, org);
      const { version, faults } = await currentReport(ports, org, report);
      if (version === undefined && faults.length === 0) throw notFoundError();
      assertOperator(principal);
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
        slot: { trigger: idempotencyKey === undefined ? randomUUID() : hashIdempotencyKey(principal, idempotencyKey) },
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
      if (org !== undefined) assertVisible(principal, org);
      return listRunPage(restrictToOrgs(ports.runs, org === undefined ? principal.orgs : [org]), {
        ...(report === undefined ? {} : { report }),
        ...(states === undefined ? {} : { states }),
        ...(since === undefined ? {} : { since }),
        ...(until === undefined ? {} : { until }),
        ...(after === undefined ? {} : { after: parseRunCursor(after) }),
        limit,
      });
    },

    run,

    decide: async (text, what, reason) => {
      const { id } = await run(text);
      assertOperator(principal);
      const record = await ports.decisions[what](id, { by: principal.name, reason });
      await told(DECISION_EVENTS[what], record, reason);
      return record;
    },
  };
}

const DECISION_EVENTS = { retry: 'run.retried', release: 'run.released', cancel: 'run.cancelled' } as const;

/** The run of this id, whole or short, if the principal may see it; throws `request.not_found`, and as `resolveRunId` does. */
export async function getVisibleRun(
  { runs }: { readonly runs: RunIdLookup },
  principal: Principal,
  text: string,
): Promise<RunRecord> {
  const id = await resolveRunId(text, runs, principal.orgs);
  const record = id === undefined ? undefined : await runs.get(id);
  if (record === undefined) throw notFoundError();
  assertVisible(principal, record.org);
  return record;
}

/** A key is its sender's own: two clients that both count from 1 do not meet. */
const hashIdempotencyKey = ({ name }: Principal, key: string): string =>
  createHash('sha256')
    .update(JSON.stringify([name, key]))
    .digest('hex')
    .slice(0, 32);

export interface WatchPorts {
  readonly live: Pick<LiveProgressStore, 'get'>;
  readonly runs: RunIdLookup;
  readonly clock: Clock;
}

/** Runs as they go on. */
export function watchAccess(ports: WatchPorts, principal: Principal): Pick<Access, 'watch'> {
  return {
    watch: async function* (text, signal) {
      const id = await resolveRunId(text, ports.runs, principal.orgs);
      if (id === undefined) throw notFoundError();
      try {
        for await (const news of watchRun(id, signal, ports)) {
          assertVisible(principal, news.record.org);
          yield news;
        }
      } catch (thrown) {
        // Told in other words than of another organization's run, it would tell that there is none.
        throw toDocketError(thrown).code === 'run.not_found' ? notFoundError() : thrown;
      }
    },
  };
}
