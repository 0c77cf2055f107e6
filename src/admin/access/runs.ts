import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { DocketError, type ErrorJson, toDocketError } from '../../base/error.ts';
import { sha256 } from '../../base/sha256.ts';
import { DAY_MS } from '../../base/time.ts';
import type { PeriodSpec } from '../../definitions/schema/report-definition.ts';
import type { Priority } from '../../fetch/rate-limit/budget.ts';
import type { StateCounts } from '../../queue/runs/run-counts.ts';
import { RETENTION_DAYS } from '../../redis/keys.ts';
import type { RunSnapshot } from '../../run/live-progress.ts';
import { listRunPage, parseRunCursor, type RunPage } from '../../run/run-page.ts';
import { type RunFilter, type RunRecord, TERMINAL_STATES, WAITING_STATES } from '../../run/run-record.ts';
import { currentReport } from '../../services/definitions/current-report.ts';
import type { RunAction } from '../../services/deliveries/decision-rules.ts';
import { restrictToOrgs } from '../../services/deliveries/query-deliveries.ts';
import { runPartsFilter } from '../../services/listings/match-reports.ts';
import type { EarlierDelivery } from '../../services/runs/already-delivered.ts';
import type { ReleasePreview } from '../../services/runs/release-preview.ts';
import { resolveRunId } from '../../services/runs/resolve-id.ts';
import { type FileEntry, primedStream, type RunFile, zipRunFiles } from '../../services/runs/run-file-reader.ts';
import { buildTimeline } from '../../services/runs/timeline/run-timeline.ts';
import type { TimelineEntry } from '../../services/runs/timeline/timeline-entry.ts';
import { pauseOfRun, type WaitReason, waitReason } from '../../services/runs/timeline/wait-reason.ts';
import { requestRun } from '../../services/runs/trigger-run.ts';
import { watchRun } from '../../services/runs/watch-run.ts';
import type { Principal } from '../auth/tokens.ts';
import { assertOperator, assertVisible, auditActor, getVisibleRun, notFoundError, visibleOrgs } from './guards.ts';
import type { AdminServices } from './services.ts';

export interface RunRequest {
  readonly period?: PeriodSpec | undefined;
  /** For a report with `split`: only the pack of this value. */
  readonly value?: string | undefined;
  readonly deliver: boolean;
  readonly priority: Priority;
  /** Delivers again if the period was already delivered. Otherwise such a run throws `already_delivered`. */
  readonly again: boolean;
  /** Allows days in `period` that are not over. Otherwise they throw `period.unfinished`. */
  readonly unfinished?: boolean | undefined;
  /** The same key with the same request returns the same run. With a different request it throws `run.conflict`. */
  readonly idempotencyKey?: string | undefined;
}

export interface RunsFilter extends Omit<RunFilter, 'reports' | 'recipients' | 'begins' | 'after'> {
  /** Words of the report's id or title, or of its organization's id or name. Case does not matter. */
  readonly match?: string | undefined;
  /** An address or a part of one. Case does not matter. */
  readonly to?: string | undefined;
  /** Selects runs whose period begins in this period, which `parseDays` reads. Throws `usage.invalid`. */
  readonly period?: string | undefined;
  /** The `next` of the previous page. */
  readonly after?: string | undefined;
}

/** Who would receive the files of a held run, and what is missing in them. */
export interface HeldRun extends ReleasePreview {
  /** Why the archive could not be read. */
  readonly error: ErrorJson | null;
}

export interface FilesZip {
  /** E.g. `weekly-kpi 2026-W46.zip`. */
  readonly name: string;
  /**
   * The caller closes the stream. Rejects, or the stream fails midway, with `archive.corrupt` or `archive.unreachable`.
   */
  open(): Promise<Readable>;
}

export interface RunTimeline {
  /** Oldest first. */
  readonly entries: readonly TimelineEntry[];
  /** Null while a worker executes the run, and after the run has ended. */
  readonly waits: WaitReason | null;
  /**
   * The newest other run on record that delivered, or may have delivered, the report for the period. Null if there is
   * none, and for a run that needs no decision.
   */
  readonly earlier: EarlierDelivery | null;
}

/** Triggers and lists runs, reads their files, and decides about them. */
export function runsAccess(services: AdminServices, principal: Principal) {
  const run = (id: string): Promise<RunRecord> => getVisibleRun(services, principal, id);
  return {
    trigger: async (
      org: string,
      report: string,
      { period, value, deliver, priority, again, unfinished = false, idempotencyKey }: RunRequest,
    ): Promise<{ readonly opened: boolean; readonly record: RunRecord }> => {
      assertVisible(principal, org);
      const { version, faults } = await currentReport(services, org, report);
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
        value,
        deliver,
        again,
        unfinished,
        by: principal.name,
        bySubject: principal.subject,
      };
      return requestRun(request, services, { from: principal.from });
    },

    runs: async ({ org, after, match, to, error, period, ...filter }: RunsFilter): Promise<RunPage> => {
      const orgs = visibleOrgs(principal, org);
      const cursor = after === undefined ? undefined : parseRunCursor(after);
      const parts = await runPartsFilter({ match, to, error, period }, orgs, services, services.jobs());
      return listRunPage(restrictToOrgs(services.runs, orgs), { ...filter, ...parts, after: cursor });
    },

    /**
     * The number of runs in each state that `runs` would list. Null if no index can count them: with words, a
     * recipient, a period or an error.
     */
    runCounts: async (filter: Omit<RunsFilter, 'states' | 'after' | 'limit'> = {}): Promise<StateCounts | null> => {
      const { org, report, match, to, error, period, since = 0, until } = filter;
      if ([match, to, error, period].some((part) => part !== undefined)) return null;
      if (org === undefined && report !== undefined) return null;
      const orgs = visibleOrgs(principal, org);
      const scopes =
        orgs === '*'
          ? [undefined]
          : [...new Set(orgs)].map((of) => ({ org: of, ...(report === undefined ? {} : { report }) }));
      // Indexes may still list runs whose record has expired.
      const kept = services.clock.now() - RETENTION_DAYS * DAY_MS;
      return services.countRuns({ scopes, since: Math.max(since, kept), until });
    },

    /**
     * Number of runs that wait for a worker, by priority. Null unless the principal may see all organizations, because
     * they share the queue.
     */
    waitingByPriority: async (): Promise<Readonly<Record<Priority, number>> | null> =>
      principal.orgs === '*' ? services.waitingByPriority() : null,

    run,

    /** Throws `run.conflict`. */
    decide: async (text: string, what: RunAction, reason: string): Promise<RunRecord> => {
      const { id } = await run(text);
      assertOperator(principal);
      return services.decisions[what](id, auditActor(principal, reason));
    },

    /** Yields the run at once and on each change until it ends, at most once per second. */
    watch: async function* (text: string, signal: AbortSignal): AsyncGenerator<RunSnapshot, void, void> {
      const id = await resolveRunId(text, services.runs, principal.orgs);
      if (id === undefined) throw notFoundError();
      try {
        for await (const snapshot of watchRun(id, signal, services)) {
          assertVisible(principal, snapshot.record.org);
          yield snapshot;
        }
      } catch (thrown) {
        // The error for the run of another organization is the same: it reveals no existence.
        throw toDocketError(thrown).code === 'run.not_found' ? notFoundError() : thrown;
      }
    },

    /**
     * The archived files of the run, and the e-mail with its images. Empty before the files are published and after
     * they have left the archive. This and the next two methods throw `archive.unreachable`, `archive.corrupt`.
     */
    files: async (id: string): Promise<readonly FileEntry[]> =>
      (await services.archivedFiles.files(await run(id))) ?? [],

    /** A file by name. Verifies its hash. */
    file: async (id: string, name: string): Promise<RunFile> => {
      const file = await services.archivedFiles.file(await run(id), name);
      if (file === undefined) throw notFoundError();
      return file;
    },

    /** The files as one zip. Throws `request.not_found` for a run without files in the archive. */
    filesZip: async (id: string): Promise<FilesZip> => {
      const record = await run(id);
      const files = (await services.archivedFiles.outputs(record)) ?? [];
      if (files.length === 0) throw notFoundError();
      return {
        name: `${record.report} ${record.period.label}.zip`,
        open: () => primedStream(zipRunFiles(files, record.createdAt)),
      };
    },

    /**
     * The e-mail as an HTML page with inline images (`data:` URLs). Serve it with a policy that disables scripts:
     * `default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox`.
     */
    preview: async (id: string, body?: string): Promise<string> => {
      const html = await services.archivedFiles.preview(await run(id), body);
      if (html === undefined) throw notFoundError();
      return html;
    },

    /** What is missing, and who would receive the files. Null for a run that does not wait for people. */
    heldRun: async (id: string): Promise<HeldRun | null> => {
      const record = await run(id);
      if (!WAITING_STATES.has(record.state)) return null;
      try {
        const preview = await services.heldRun(record);
        return { missing: null, recipients: null, ...preview, error: null };
      } catch (thrown) {
        const error = toDocketError(thrown);
        // The page must show the run even if the archive is unreachable.
        if (!error.code.startsWith('archive.')) throw error;
        return { missing: null, recipients: null, error: error.toJSON() };
      }
    },

    /** The steps of a run, what it waits for, and what was delivered for its period before. */
    timeline: async (id: string): Promise<RunTimeline> => loadTimeline(services, await run(id)),
  };
}

/** Builds the timeline of a run that the caller has already looked up. */
export async function loadTimeline(
  services: Pick<AdminServices, 'decisions' | 'pauses' | 'live' | 'runHistory' | 'earlierDelivery' | 'countWorkers'>,
  record: RunRecord,
): Promise<RunTimeline> {
  const isOpen = !TERMINAL_STATES.has(record.state);
  const [{ deliveries: rows }, snapshot, pauses, workers] = await Promise.all([
    services.decisions.page({ orgs: [record.org], run: record.id, limit: 1 }),
    record.state === 'running' ? services.live.get(record.id) : undefined,
    isOpen ? services.pauses.list() : [],
    isOpen ? services.countWorkers() : null,
  ]);
  const needsDecision = record.state === 'held' || rows.some(({ state }) => state === 'unknown');
  const [history, earlier] = await Promise.all([
    services.runHistory(record, rows),
    needsDecision ? services.earlierDelivery(record) : undefined,
  ]);
  const live = snapshot?.live ?? null;
  const waits = waitReason({ record, live, pause: pauseOfRun(pauses, record), workers });
  return {
    entries: buildTimeline({ record, live, rows, history, waits }),
    waits,
    earlier: earlier ?? null,
  };
}

/** Keys belong to their sender: two clients that both count from 1 do not collide. */
const hashIdempotencyKey = ({ kind, name, subject }: Principal, key: string): string =>
  // For tokens the stored keys use the name, not the subject.
  sha256(JSON.stringify([kind === 'token' ? name : subject, key])).slice(0, 32);
