import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import { sha256 } from '../../base/sha256.ts';
import type { LiveProgressStore } from '../../queue/runs/live-progress.ts';
import type { RunIdLookup } from '../../queue/runs/run-ids.ts';
import { listRunPage, parseRunCursor } from '../../run/run-page.ts';
import type { RunRecord, RunStore } from '../../run/run-record.ts';
import type { AuditLog } from '../../services/audit-log.ts';
import { type CurrentReportPorts, currentReport } from '../../services/definitions/current-report.ts';
import { decideRun } from '../../services/deliveries/audited-decisions.ts';
import type { DecisionService } from '../../services/deliveries/decisions.ts';
import { restrictToOrgs } from '../../services/deliveries/query-deliveries.ts';
import { resolveRunId } from '../../services/runs/resolve-id.ts';
import { requestRun, type TriggerRun } from '../../services/runs/trigger-run.ts';
import { watchRun } from '../../services/runs/watch-run.ts';
import { type RunPartsPorts, runPartsFilter } from '../../services/search/run-parts.ts';
import type { Principal } from '../auth/tokens.ts';
import { type Access, assertOperator, assertVisible, auditActor, notFoundError } from './access.ts';

export interface RunsPorts extends CurrentReportPorts, Omit<RunPartsPorts, 'jobs'> {
  readonly trigger: TriggerRun;
  readonly runs: Pick<RunStore, 'list'> & RunIdLookup;
  readonly decisions: Pick<DecisionService, 'retry' | 'release' | 'cancel'>;
  readonly audit: Pick<AuditLog, 'record'>;
}

/** Runs: trigger, list and inspect them, and decide about them. */
export function runsAccess(
  ports: RunsPorts,
  principal: Principal,
): Pick<Access, 'trigger' | 'runs' | 'run' | 'decide'> {
  const run = (id: string): Promise<RunRecord> => getVisibleRun(ports, principal, id);
  return {
    trigger: async (org, report, { period, deliver, priority, again, unfinished = false, idempotencyKey }) => {
      assertVisible(principal, org);
      const { version, faults } = await currentReport(ports, org, report);
      if (version === undefined && faults.length === 0) throw notFoundError();
      assertOperator(principal);
      if (version === undefined) {
        throw new DocketError(
          'definition.invalid',
          `The file of ${org}/${report} is invalid, and no version of it is active.`,
          { next: 'Correct its file; the page of the report lists the errors.' },
        );
      }
      const request = {
        ...version,
        slot:
          idempotencyKey === undefined
            ? { trigger: randomUUID(), isNew: true }
            : { trigger: hashIdempotencyKey(principal, idempotencyKey) },
        trigger: 'on_demand' as const,
        priority,
        ...(period === undefined ? {} : { period }),
        deliver,
        again,
        unfinished,
        by: principal.name,
        bySubject: principal.subject,
      };
      return requestRun(request, ports, { from: principal.from });
    },

    runs: async ({ org, after, match, to, error, period, ...filter }) => {
      if (org !== undefined) assertVisible(principal, org);
      const orgs = org === undefined ? principal.orgs : [org];
      const cursor = after === undefined ? undefined : parseRunCursor(after);
      const parts = await runPartsFilter({ match, to, error, period }, orgs, ports);
      return listRunPage(restrictToOrgs(ports.runs, orgs), { ...filter, ...parts, after: cursor });
    },

    run,

    decide: async (text, what, reason) => {
      const { id } = await run(text);
      assertOperator(principal);
      return decideRun(id, what, auditActor(principal, reason), ports);
    },
  };
}

/** The run with this id or prefix, if the principal may see it. Throws `request.not_found`, and as `resolveRunId`. */
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

/** Keys are scoped to their sender: two clients that both count from 1 do not collide. */
const hashIdempotencyKey = ({ kind, name, subject }: Principal, key: string): string =>
  // Keys of tokens are stored by their name.
  sha256(JSON.stringify([kind === 'token' ? name : subject, key])).slice(0, 32);

export interface WatchPorts {
  readonly live: Pick<LiveProgressStore, 'get'>;
  readonly runs: RunIdLookup;
  readonly clock: Clock;
}

/** Live progress of runs. */
export function watchAccess(ports: WatchPorts, principal: Principal): Pick<Access, 'watch'> {
  return {
    watch: async function* (text, signal) {
      const id = await resolveRunId(text, ports.runs, principal.orgs);
      if (id === undefined) throw notFoundError();
      try {
        for await (const snapshot of watchRun(id, signal, ports)) {
          assertVisible(principal, snapshot.record.org);
          yield snapshot;
        }
      } catch (thrown) {
        // The same error as for the run of another organization: existence is not revealed.
        throw toDocketError(thrown).code === 'run.not_found' ? notFoundError() : thrown;
      }
    },
  };
}
