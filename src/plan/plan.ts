import type { MetricBase } from '../contract/bases.ts';
import type { OrgRef } from '../contract/organization.ts';
import type { ReportRequest } from '../contract/report.ts';
import type { Period } from '../definitions/periods/period.ts';
import type { ComparisonKind, ToDate } from '../definitions/schema/comparison.ts';
import type { Definition, Section } from '../definitions/schema/report-definition.ts';
import type { Bucket, DateRange } from './buckets.ts';

/** One call of the metrics API. Two calls of a run with the same id are the same call, which is made once. */
export interface ReportCall {
  readonly kind: 'report';
  /** 16 hex digits of SHA-256 of the organization and the canonical body, so equal requests have equal ids. */
  readonly id: string;
  readonly org: OrgRef;
  readonly request: ReportRequest;
  /** Metrics in the request that no section shows: the numbers of cases behind others. Absent if there are none. */
  readonly bases?: readonly string[];
}

/** A list export with all its pages. It uses the `reads` budget, not the metrics budget. */
export interface ListCall {
  readonly kind: 'list';
  readonly id: string;
  readonly org: OrgRef;
  readonly list: 'profiles';
  readonly ordering?: string;
  readonly search?: string;
}

export type Call = ReportCall | ListCall;

/** A part of a table that one response provides. */
export interface JoinPart {
  readonly call: string;
  /** The period of its values: the report's, or the previous one if it is requested separately. */
  readonly period: 'this' | 'previous';
  /** Index of its first bucket in the whole range, and its number of buckets. */
  readonly first: number;
  readonly buckets: number;
  /** Metrics whose cells are read from this part. Empty if only its totals are read. */
  readonly metrics: readonly string[];
  /** Metrics for which the totals of this part count. */
  readonly totals: readonly string[];
}

/** Totals that neither a single call nor a sum over parts can provide. */
export interface UndefinedTotals {
  readonly metrics: readonly string[];
  /** What exceeds one call: the days in the range, or the values of a filter. */
  readonly why: 'range' | 'filter';
}

/** How the responses of several calls are joined into a table. */
export interface Join {
  /** The request for the whole table, regardless of limits. */
  readonly request: ReportRequest;
  /** All buckets of the range. Without granularity: the range itself. One for current counts. */
  readonly buckets: readonly Bucket[];
  /** The previous period, if the table is compared with it. Its n-th bucket belongs to the n-th of the range. */
  readonly previous?: DateRange & { readonly buckets: readonly Bucket[] };
  readonly parts: readonly JoinPart[];
  /** True: cells are sums over several parts. False: each cell is in one part only. */
  readonly sums: boolean;
  readonly undefinedTotals?: UndefinedTotals;
}

/** A deprecated metric in whose place its successor is requested, because the report follows replacements. */
export interface Replacement {
  readonly from: string;
  readonly to: string;
}

/**
 * Figures of a section for other days, which its own calls do not provide: for the year before, from the start of a
 * year or quarter, or for the buckets of a scorecard's trend. The requests have neither `order` nor `limit`, unless the
 * days are the section's own and its calls provide them. Totals are read from the response's totals if requested,
 * otherwise from its single row.
 */
export interface PartnerPlan {
  readonly kind: 'previous_year' | 'to_date' | 'trend';
  /** Where the figures belong: to the rows by bucket and group, or to the totals (and a single row without bucket). */
  readonly of: 'rows' | 'totals';
  readonly range: DateRange;
  /** Regardless of limits. The request for a trend may cover more days than `range`, and may have a comparison. */
  readonly request: ReportRequest;
  /** Id of its call, or of the first part if there is a `join`. */
  readonly call: string;
  readonly join?: Join;
  /** How to join bases that are not in the other join. */
  readonly baseJoin?: Join;
}

/** The calls of a section, and how its table is read from them. */
export interface SectionPlan {
  /** The section as defined, with deprecated metrics replaced. */
  readonly section: Section;
  /** The section's own period, or the report's. */
  readonly period: Period;
  /** In the order of the definition. */
  readonly comparisons: readonly ComparisonKind[];
  /** The section's `to_date`, or the report's. Absent for current counts and lists. */
  readonly toDate?: ToDate;
  /** For `previous_year`, `to_date` and `trend`. A range for both rows and totals appears twice, with the same call. */
  readonly partners: readonly PartnerPlan[];
  /** Id of its call, or of the first part if there is a `join`. Absent for a text section, which has none. */
  readonly call?: string;
  readonly join?: Join;
  readonly baseJoin?: Join;
  /** The bases of its ratios and durations that the catalog has. A call without room lacks their values. */
  readonly bases?: readonly MetricBase[];
  readonly replaced?: readonly Replacement[];
}

/** Ids of the calls of a section or a partner, without repetitions. */
export const collectCalls = ({ call, join }: Pick<SectionPlan, 'call' | 'join'>): readonly string[] =>
  join !== undefined ? [...new Set(join.parts.map((part) => part.call))] : call === undefined ? [] : [call];

/** Ids of all calls of a section, including those of its partners. */
export const collectAllCalls = (section: SectionPlan): readonly string[] => [
  ...new Set([section, ...section.partners].flatMap(collectCalls)),
];

/** The calls of a run, in order, as frozen data. */
export interface Plan {
  readonly org: string;
  readonly report: string;
  readonly definition: Definition;
  readonly period: Period;
  readonly calls: readonly Call[];
  readonly sections: readonly SectionPlan[];
  /** Version of the catalog that the plan was checked against. */
  readonly registryVersion: number;
}
