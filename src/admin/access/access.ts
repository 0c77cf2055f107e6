import type { Readable } from 'node:stream';
import { DocketError, type ErrorJson } from '../../base/error.ts';
import type { Diagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import type { Period } from '../../definitions/periods/period.ts';
import type { SlotView } from '../../definitions/schedules/slot-view.ts';
import type { PeriodSpec } from '../../definitions/schema/report-definition.ts';
import type { Priority } from '../../fetch/rate-limit/budget.ts';
import type { Pause } from '../../queue/schedules/pauses.ts';
import type { ReadingSummary } from '../../queue/schedules/reading-index.ts';
import type { RunSnapshot } from '../../run/live-progress.ts';
import type { RunPage } from '../../run/run-page.ts';
import type { RunRecord, RunState } from '../../run/run-record.ts';
import type { AuditActor, AuditEvent, AuditPage } from '../../services/audit-log.ts';
import type { BudgetOverview } from '../../services/budgets/inspect-budgets.ts';
import type { Correction } from '../../services/corrections/correction.ts';
import type { CorrectionView } from '../../services/corrections/correction-service.ts';
import type { CorrectionSummary } from '../../services/corrections/watch-index.ts';
import type { ReportOutline } from '../../services/definitions/report-outline.ts';
import type { TemplateView } from '../../services/definitions/template-view.ts';
import type { DeliveryPage, DeliveryRow, DeliveryState } from '../../services/deliveries/decisions.ts';
import type { DeploymentProblem } from '../../services/deployment/deployment-problems.ts';
import type { CommentWarning, ReviewView } from '../../services/reviews/review-service.ts';
import type { EarlierDelivery } from '../../services/runs/already-delivered.ts';
import type { ReleasePreview } from '../../services/runs/release-preview.ts';
import type { FileEntry, RunFile } from '../../services/runs/run-file-reader.ts';
import type { TimelineEntry } from '../../services/runs/timeline/timeline-entry.ts';
import type { WaitReason } from '../../services/runs/timeline/wait-reason.ts';
import type { ReceivedPage } from '../../services/search/received.ts';
import type { SearchResult } from '../../services/search/search.ts';
import { canSee, type Principal } from '../auth/tokens.ts';

/**
 * What a principal may see and do. All requests of the API and the page go through it.
 *
 * Data of another organization does not exist for the principal: `request.not_found`. Actions throw `auth.forbidden` for a
 * viewer, and are recorded in the audit log once they have changed something. Each method throws `redis.unreachable`.
 *
 * Run and delivery ids may be prefixes of eight digits or more that match one visible item; otherwise `run.ambiguous`,
 * `delivery.ambiguous`, or `usage.invalid` for fewer digits.
 */
export interface Access {
  readonly principal: Principal;
  /** Organizations with a folder of definitions, by id. */
  organizations(): Promise<readonly OrganizationEntry[]>;
  /** The current reports by organization and id, including those with invalid files. */
  reports(filter: ReportsFilter): Promise<ReportPage>;
  report(org: string, report: string): Promise<ReportDetail>;
  /** The title of a report; undefined where this process has loaded no valid version of it. Reads nothing. */
  titleOf(org: string, report: string): string | undefined;
  /** Resolves period specifications for the report; none while no version of it is active. @param specs undefined: the definition's own */
  periods(org: string, report: string, specs: readonly (PeriodSpec | undefined)[]): Promise<readonly Period[]>;
  /** Next slots, soonest first. @param until epoch ms, at most `limit` slots in all */
  slots(filter: SlotFilter): Promise<readonly SlotEntry[]>;
  /**
   * The requests and cost of a run: `docket explain --json`. It may cost an operator's request a token of the API key; for a
   * viewer it uses the cached catalog. Throws `plan.invalid`, `catalog.missing` and what the service answers.
   */
  explain(org: string, report: string, period?: PeriodSpec): Promise<unknown>;
  /** Validates the text of a definition as a report of this organization; stores nothing. */
  validate(org: string, report: string, text: string): Promise<Validation>;

  trigger(org: string, report: string, request: RunRequest): Promise<{ opened: boolean; record: RunRecord }>;
  runs(filter: RunsFilter): Promise<RunPage>;
  run(id: string): Promise<RunRecord>;
  /** Yields the run at once and on each change, until it has ended; at most once per second. */
  watch(id: string, signal: AbortSignal): AsyncIterable<RunSnapshot>;
  /** Throws `run.conflict`. */
  decide(id: string, what: 'retry' | 'release' | 'cancel', reason: string): Promise<RunRecord>;
  /**
   * The archived files of the run, and the e-mail with its images. Empty before they are published and after they have left
   * the archive. This and the next two methods throw `archive.unreachable`, `archive.corrupt`.
   */
  files(id: string): Promise<readonly FileEntry[]>;
  /** A file by name; its hash is verified. */
  file(id: string, name: string): Promise<RunFile>;
  /** The files as one zip. Throws `request.not_found` for a run without files in the archive. */
  filesZip(id: string): Promise<FilesZip>;
  /**
   * The e-mail as an HTML page with inline images (`data:` URLs). Serve it with a policy that disables scripts:
   * `default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox`.
   */
  preview(id: string, body?: string): Promise<string>;

  /** What is missing, and who would receive it; null for a run that does not wait for people. */
  heldRun(id: string): Promise<HeldRun | null>;

  /** The review of a run, as the principal may take part in it; null for a run without one. Throws `archive.*`. */
  review(id: string): Promise<ReviewView | null>;
  /** A file of what is reviewed. Throws `request.not_found`. */
  reviewFile(id: string, name: string): Promise<RunFile>;
  /** The e-mail of what is reviewed, as `preview`. Throws `request.not_found`. */
  reviewPreview(id: string, body?: string): Promise<string>;
  /**
   * Writes a comment, or withdraws it. Needs the role operator. Throws `run.conflict`, `review.comment_invalid`,
   * `approval.unreachable`.
   *
   * @param section null: on the whole report
   * @param text null: withdraws the comment
   */
  comment(
    id: string,
    section: string | null,
    text: string | null,
  ): Promise<{ readonly view: ReviewView; readonly warnings: readonly CommentWarning[] }>;
  /**
   * Approves exactly this content. The definition names who may, viewers too. This and `reject` throw `run.conflict`,
   * `review.content_changed`, `review.not_allowed`; `approve` throws `already_delivered`.
   *
   * @param content SHA-256 (hex) of what was reviewed, or a prefix of eight digits or more
   * @param again approves also what was delivered for the period before
   */
  approve(id: string, content: string, reason: string, again?: boolean): Promise<ReviewView>;
  reject(
    id: string,
    content: string,
    decision: { readonly reason: string; readonly refetch: boolean },
  ): Promise<ReviewView>;

  /** The steps of a run, what it waits for, and what was delivered before for its period. */
  timeline(id: string): Promise<RunTimeline>;

  deliveries(filter: DeliveriesFilter): Promise<DeliveryPage>;
  /** Who got what: the deliveries to matching recipients, by run, newest first. */
  received(filter: ReceivedFilter): Promise<ReceivedPage>;
  delivery(id: string): Promise<DeliveryRow>;
  /** Throws `delivery.conflict`. */
  resolve(id: string, as: 'sent' | 'resend', reason: string): Promise<DeliveryRow>;
  /**
   * Several deliveries of a run, all or none: these, or `all` whose result is unknown. Returns them as they are now. Throws
   * `delivery.conflict`.
   */
  resolveMany(
    run: string,
    deliveries: readonly string[] | 'all',
    as: 'sent' | 'resend',
    reason: string,
  ): Promise<readonly DeliveryRow[]>;

  pauses(): Promise<readonly Pause[]>;
  /** @param report null: all reports of the organization */
  pause(org: string, report: string | null, reason: string): Promise<Pause>;
  resume(org: string, report: string | null, reason: string): Promise<readonly Pause[]>;

  /** How many corrections wait for a decision, by organization, as counted in the last minutes. Reads no archive. */
  correctionSummaries(): Promise<readonly CorrectionSummary[]>;
  /** Corrections of delivered figures, newest first. Their ids may be prefixes, e.g. `83b1c195-1`. */
  corrections(filter?: {
    readonly org?: string | undefined;
    readonly state?: Correction['state'] | undefined;
  }): Promise<readonly Correction[]>;
  /** With its edition, and who would receive a corrected one. */
  correction(id: string): Promise<CorrectionView>;
  /** Opens the run of the corrected edition. Throws `correction.conflict`. */
  sendCorrection(id: string, reason: string): Promise<{ readonly correction: Correction; readonly run: string }>;
  /** Throws `correction.conflict`. */
  dismissCorrection(id: string, reason: string): Promise<Correction>;

  /** Organizations with readings of current counts, and what was missed lately. */
  readings(): Promise<readonly ReadingSummary[]>;

  /** Searches reports, runs and recipients. @param text what somebody typed, at most 200 characters */
  search(text: string): Promise<SearchResult>;

  /** Entries of the audit log, newest first. */
  audit(filter: {
    readonly org?: string | undefined;
    readonly event?: AuditEvent | undefined;
    readonly who?: string | undefined;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<AuditPage>;

  /** Why reports of every organization do not go out, or soon will not: no worker, no scheduler, a full Redis, wrong clocks. */
  deploymentProblems(): Promise<readonly DeploymentProblem[]>;

  /** The budgets of the API keys of the visible organizations. */
  budgets(): Promise<BudgetOverview>;
}

export interface OrganizationEntry {
  readonly org: string;
  readonly name: string;
  /** Null where no valid `org.yaml` was loaded. */
  readonly timezone: string | null;
  readonly reports: number;
  readonly pause: Pause | null;
}

export interface ReportsFilter {
  readonly org?: string | undefined;
  /** `next` of the page before: the name of its last report, `org/report`. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface ReportPage {
  readonly reports: readonly ReportEntry[];
  readonly next: string | null;
}

export interface ReportEntry {
  readonly org: string;
  readonly report: string;
  readonly title: string;
  /** One line each (`formatSchedule`); empty: on demand only. */
  readonly schedules: readonly string[];
  /** The same in words: `at 08:00, only on Monday`. */
  readonly scheduleWords: readonly string[];
  /** The report's own pause or its organization's. */
  readonly pause: Pause | null;
  /** Diagnostics of its file. The report uses its last good version, if there is one. */
  readonly faults: readonly string[];
  /** The newest run in any state; null if the report has no run. */
  readonly last: RunRecord | null;
}

/** All fields but the slots are null for a report without a valid version. */
export interface ReportDetail extends ReportEntry {
  readonly owner: string | null;
  readonly timezone: string | null;
  /**
   * The text of the active definition, YAML with references to secrets. An invalid text is never shown: it may contain a
   * secret. Null as well where only Redis has the active version.
   */
  readonly text: string | null;
  readonly digest: string | null;
  /** The next slots, at most five. */
  readonly slots: readonly SlotView[];
  /** Who gets what, when and in which form, for people who do not read YAML. */
  readonly outline: ReportOutline | null;
  /** What of its workbook template gets what; null also for a report without one. */
  readonly workbook: TemplateView | null;
}

export interface SlotFilter {
  readonly org?: string | undefined;
  readonly report?: string | undefined;
  readonly from?: number | undefined;
  readonly until?: number | undefined;
  readonly limit: number;
}

export interface SlotEntry extends SlotView {
  readonly org: string;
  readonly report: string;
  readonly title: string;
  readonly paused: boolean;
}

/** The result of a validation. `text` of a fault is the line that `docket check` prints, with line and column. */
export interface Validation {
  readonly ok: boolean;
  readonly faults: readonly {
    readonly line: number;
    readonly column: number;
    readonly text: string;
    readonly code?: Diagnostic['code'];
  }[];
  /** Why the metric catalog was not checked; null if it was, and if there are other faults. */
  readonly unchecked: string | null;
}

export interface RunRequest {
  readonly period?: PeriodSpec | undefined;
  readonly deliver: boolean;
  readonly priority: Priority;
  /** Delivers again what was delivered for the period; otherwise that throws `already_delivered`. */
  readonly again: boolean;
  /** Days in `period` that are not over are meant; otherwise they throw `period.unfinished`. */
  readonly unfinished?: boolean | undefined;
  /** The same key and request return the same run; a different request throws `run.conflict`. */
  readonly idempotencyKey?: string | undefined;
}

export interface RunsFilter {
  readonly org?: string | undefined;
  readonly report?: string | undefined;
  /** Words of the report's id or title, or of its organization's id or name, in any case. */
  readonly match?: string | undefined;
  /** An address in any case, or a part of one. */
  readonly to?: string | undefined;
  /** A part of the code of the run's error. */
  readonly error?: string | undefined;
  /** A period as `parseDays` reads it: runs whose period begins in it. Throws `usage.invalid`. */
  readonly period?: string | undefined;
  readonly states?: readonly RunState[] | undefined;
  /** Epoch ms. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** `next` of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** The preview of a held run's release. */
export interface HeldRun extends ReleasePreview {
  /** Why the archive could not be read. */
  readonly error: ErrorJson | null;
}

export interface FilesZip {
  /** E.g. `weekly-kpi 2026-W46.zip`. */
  readonly name: string;
  /** The caller closes the stream. Rejects, or fails before the stream is complete: `archive.corrupt`, `archive.unreachable`. */
  open(): Promise<Readable>;
}

export interface RunTimeline {
  /** Oldest first. */
  readonly entries: readonly TimelineEntry[];
  /** Null while the run works, and after its end. */
  readonly waits: WaitReason | null;
  /**
   * The newest other run on record that has delivered the report for the period, or may have. Null if none exists, and
   * for a run that needs no decision.
   */
  readonly earlier: EarlierDelivery | null;
}

export interface DeliveriesFilter {
  readonly org?: string | undefined;
  readonly report?: string | undefined;
  readonly run?: string | undefined;
  readonly state?: DeliveryState | undefined;
  /** `next` of the page before. */
  readonly after?: string | undefined;
  /** Maximum number of runs to read, newest first; the number of deliveries differs, and `next` is null on the last page. */
  readonly limit: number;
}

export interface ReceivedFilter {
  readonly org?: string | undefined;
  readonly report?: string | undefined;
  /** As in `RunsFilter`. */
  readonly match?: string | undefined;
  readonly to?: string | undefined;
  readonly period?: string | undefined;
  readonly state?: DeliveryState | undefined;
  /** `next` of the page before. */
  readonly after?: string | undefined;
  /** Maximum number of runs to read, newest first. */
  readonly limit: number;
}

/** The same error for what belongs to another organization and for what does not exist: existence is not revealed. */
export const notFoundError = (): DocketError => new DocketError('request.not_found', 'Not found.');

/** Throws `request.not_found` for an organization that does not exist for the principal. */
export function assertVisible(principal: Principal, org: string): void {
  if (!canSee(principal, org)) throw notFoundError();
}

/** Throws `auth.forbidden` for a viewer. Call `assertVisible` first. */
export function assertOperator({ role, kind }: Principal): void {
  if (role === 'operator') return;
  throw new DocketError('auth.forbidden', `This ${kind} is read-only.`, {
    expected: `${kind === 'token' ? 'a token' : 'an account'} with the role operator`,
    got: `the role ${role}`,
  });
}

/** The principal as the audit log records it. */
export const auditActor = ({ name, from }: Principal, reason: string): AuditActor => ({ by: name, from, reason });
