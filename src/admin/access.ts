import type { Readable } from 'node:stream';
import type { ErrorJson } from '../base/error.ts';
import type { PeriodSpec } from '../define/definition.ts';
import type { Fault } from '../define/fault.ts';
import type { Period } from '../define/period.ts';
import type { SlotView } from '../define/slot-view.ts';
import type { BudgetState, Priority } from '../fetch/budget.ts';
import type { DeliveryPage, DeliveryRow, DeliveryState } from '../queue/decisions.ts';
import type { Pause } from '../queue/pauses.ts';
import type { RunNews } from '../run/live.ts';
import type { RunPage } from '../run/page.ts';
import type { RunRecord, RunState } from '../run/record.ts';
import type { AuditEvent, AuditPage } from './auth/audit.ts';
import type { Principal } from './auth/tokens.ts';

/**
 * What one principal may see and do: the only way from a request, of the API or of the page, to anything behind it.
 *
 * Whatever belongs to another organization is not there, whether it exists or not: `request.not_found`. Whatever acts
 * throws `auth.forbidden` for a viewer, and leaves a line in the audit log once it has changed something. Each method throws `redis.unreachable`.
 *
 * An id of a run or a delivery may be its first eight digits or more, where they name one of those that the principal may
 * see; otherwise `run.ambiguous`, `delivery.ambiguous`, or `usage.invalid` for fewer digits.
 */
export interface Access {
  readonly principal: Principal;
  /** Organizations with a folder of definitions, by id. */
  organizations(): Promise<readonly OrganizationEntry[]>;
  /** Reports as they are defined now, by organization and id; those whose file has a fault are among them. */
  reports(filter: ReportsFilter): Promise<ReportPage>;
  report(org: string, report: string): Promise<ReportDetail>;
  /** The days that each of them means for this report now; none while no version of it is in force. @param specs undefined: the definition's own */
  periods(org: string, report: string, specs: readonly (PeriodSpec | undefined)[]): Promise<readonly Period[]>;
  /** Next slots, soonest first. @param until epoch ms, at most `limit` slots in all */
  slots(filter: SlotFilter): Promise<readonly SlotEntry[]>;
  /**
   * What a run would ask and cost: `docket explain --json`. For an operator it may cost a token of the key; a viewer is
   * told of what is held. Throws `plan.invalid`, `catalog.missing` and what the service answers.
   */
  explain(org: string, report: string, period?: PeriodSpec): Promise<unknown>;
  /** A definition's text, read as a report of this organization; nothing is kept. */
  validate(org: string, report: string, text: string): Promise<Validation>;

  trigger(org: string, report: string, request: RunRequest): Promise<{ opened: boolean; record: RunRecord }>;
  runs(filter: RunsFilter): Promise<RunPage>;
  run(id: string): Promise<RunRecord>;
  /** How the run goes on: at once, and whenever it changed, until it has ended. At most one a second. */
  watch(id: string, signal: AbortSignal): AsyncIterable<RunNews>;
  /** Throws `run.conflict`. */
  decide(id: string, what: 'retry' | 'release' | 'cancel', reason: string): Promise<RunRecord>;
  /**
   * What the archive keeps of the run for people: its files, and the e-mail with its pictures. Empty before the run has
   * made them and after they have left the archive. This and the next two throw `archive.unreachable`, `archive.corrupt`.
   */
  files(id: string): Promise<readonly FileEntry[]>;
  /** One of them, by its name; the bytes are compared with their hash. */
  file(id: string, name: string): Promise<RunFile>;
  /**
   * The e-mail as a page of its own, its pictures inside as `data:` URLs. Show it under a policy that runs nothing:
   * `default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox`.
   */
  preview(id: string): Promise<string>;

  /** What somebody wants to know before a held run is released; null for a run that is not held. */
  heldPack(id: string): Promise<HeldPack | null>;

  deliveries(filter: DeliveriesFilter): Promise<DeliveryPage>;
  delivery(id: string): Promise<DeliveryRow>;
  /** Throws `delivery.conflict`. */
  resolve(id: string, as: 'sent' | 'resend', reason: string): Promise<DeliveryRow>;

  pauses(): Promise<readonly Pause[]>;
  /** @param report null: all reports of the organization */
  pause(org: string, report: string | null, reason: string): Promise<Pause>;
  resume(org: string, report: string | null, reason: string): Promise<readonly Pause[]>;

  /** Who did what, newest first. */
  audit(filter: {
    readonly org?: string | undefined;
    readonly event?: AuditEvent | undefined;
    readonly who?: string | undefined;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<AuditPage>;

  /** The lines of the keys that the visible organizations use. */
  budgets(): Promise<BudgetLines>;
}

export interface OrganizationEntry {
  readonly org: string;
  readonly name: string;
  /** Null where its `org.yaml` has had a fault since the start. */
  readonly timezone: string | null;
  readonly reports: number;
  readonly pause: Pause | null;
}

export interface ReportsFilter {
  readonly org?: string;
  /** `next` of the page before: the name of its last report, `org/report`. */
  readonly after?: string;
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
  /** One line each (`scheduleText`); empty: on demand only. */
  readonly schedules: readonly string[];
  /** The report's own pause or its organization's. */
  readonly pause: Pause | null;
  /** Of its file: the report goes on as its last good version says, or not at all where there is none. */
  readonly faults: readonly string[];
  /** The newest run, of whatever state; null while there is none. */
  readonly last: RunRecord | null;
}

/** All but the slots is null of a report whose file has had a fault since it was written: no version of it is in force. */
export interface ReportDetail extends ReportEntry {
  readonly owner: string | null;
  readonly timezone: string | null;
  /**
   * The definition in force as its file said it, YAML. Secrets are references in it. A text that has a fault is never
   * shown: the fault may be a secret. Null as well where only Redis knows the version in force.
   */
  readonly text: string | null;
  readonly digest: string | null;
  /** The next ones, at most five. */
  readonly slots: readonly SlotView[];
}

export interface SlotFilter {
  readonly org?: string;
  readonly report?: string;
  readonly from?: number;
  readonly until?: number;
  readonly limit: number;
}

export interface SlotEntry extends SlotView {
  readonly org: string;
  readonly report: string;
  readonly title: string;
  readonly paused: boolean;
}

/** What came of a definition's text. `text` of a fault is what `docket check` prints, with line and column. */
export interface Validation {
  readonly ok: boolean;
  readonly faults: readonly {
    readonly line: number;
    readonly column: number;
    readonly text: string;
    readonly code?: Fault['code'];
  }[];
  /** Why what it asks was not compared with the metric catalog; null when it was, and when it has other faults. */
  readonly unchecked: string | null;
}

export interface RunRequest {
  readonly period?: PeriodSpec;
  readonly deliver: boolean;
  readonly priority: Priority;
  /** Delivers once more what was delivered for the period already; without, that throws `already_delivered`. */
  readonly again: boolean;
  /** The same key and request give the same run; another request throws `run.conflict`. */
  readonly idempotencyKey?: string;
}

export interface RunsFilter {
  readonly org?: string;
  readonly report?: string;
  readonly states?: readonly RunState[];
  /** Epoch ms. */
  readonly since?: number;
  readonly until?: number;
  /** `next` of the page before. */
  readonly after?: string;
  readonly limit: number;
}

export type { RunLive, RunNews } from '../run/live.ts';

/** A file of a run, as its manifest names it. */
export interface FileEntry {
  readonly name: string;
  /** `mail`: `mail.html` and `mail.txt`; `picture`: what the HTML shows as `cid:`. */
  readonly kind: 'file' | 'mail' | 'picture';
  /** Media type. */
  readonly type: string;
  /** Null for parts of the mail, whose manifest notes none. */
  readonly bytes: number | null;
  /** Hex. Null for the mail of runs that older versions have sealed. */
  readonly sha256: string | null;
}

export interface RunFile extends FileEntry {
  readonly bytes: number;
  /** Rejects at once for a file that is missing, at the last piece for one that was changed: `archive.corrupt`. Whoever opens it closes it. */
  open(): Promise<Readable>;
}

/** A held run's files: what is missing in them, and who would receive them. */
export interface HeldPack {
  /** In the order of the sections; null where the archive does not say. */
  readonly missing:
    | readonly {
        /** The section's id, and its title where the definition has one. */
        readonly section: string;
        readonly title: string | null;
        readonly code: string;
        /** One sentence, in the report's language. */
        readonly text: string;
      }[]
    | null;
  /** Null where the archive or the run's definition is not at hand. */
  readonly recipients:
    | readonly {
        /** Position and kind in the definition, e.g. `0-email`. */
        readonly target: string;
        /** An address, or where the files go. */
        readonly recipient: string;
        readonly receives: boolean;
        /** Why it would not: the allow-list, or its `send_if`. */
        readonly why: string | null;
      }[]
    | null;
  /** Why the archive could not be read. */
  readonly error: ErrorJson | null;
}

export interface DeliveriesFilter {
  readonly org?: string;
  readonly report?: string;
  readonly run?: string;
  readonly state?: DeliveryState;
  /** `next` of the page before. */
  readonly after?: string;
  /** Runs that are looked through, newest first: a page may have more deliveries or fewer, and `next` tells whether there are more. */
  readonly limit: number;
}

/** Lines by key; and organizations whose key this process cannot look up, so that nothing is told of its line. */
export interface BudgetLines {
  readonly lines: readonly BudgetEntry[];
  readonly unknown: readonly { readonly org: string; readonly why: string }[];
}

/** The line of one API key for one kind of calls. */
export interface BudgetEntry {
  /** Visible ones alone: that strangers share the key is not told. */
  readonly organizations: readonly string[];
  readonly of: 'metrics' | 'reads';
  /** Tokens there are at the full rate, in a window of so many ms. */
  readonly calls: number;
  readonly windowMs: number;
  readonly state: BudgetState;
  /** When a call that is asked for now can expect its token, if nobody goes before it: epoch ms, now while one is free. */
  readonly expected: number;
}
