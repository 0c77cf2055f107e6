import type { MetricBase } from '../contract/bases.ts';
import type { OrgRef } from '../contract/organization.ts';
import type { ReportRequest } from '../contract/report.ts';
import type { Period } from '../definitions/periods/period.ts';
import type { ComparisonKind, ToDate } from '../definitions/schema/comparison.ts';
import type { Definition, Section } from '../definitions/schema/report-definition.ts';
import type { Bucket, DateRange } from './buckets.ts';

/** One call of the metrics API. Two calls of a run with the same id are the same call and are made once. */
export interface ReportCall {
  readonly kind: 'report';
  /** 16 hex digits of SHA-256 over the organization and the canonical body: equal requests have equal ids. */
  readonly id: string;
  readonly org: OrgRef;
  readonly request: ReportRequest;
  /** Metrics of the request that no section asks for: the counts of the cases behind others. Absent without any. */
  readonly bases?: readonly string[];
}

/** A list export with all pages. Uses the `reads` budget, not the metrics budget. */
export interface ListCall {
  readonly kind: 'list';
  readonly id: string;
  readonly org: OrgRef;
  readonly list: 'profiles';
  readonly ordering?: string;
  readonly search?: string;
}

export type Call = ReportCall | ListCall;

/** Part of a table that one response provides. */
export interface JoinPart {
  readonly call: string;
  /** The period of its values: the report's, or the previous one if it is requested separately. */
  readonly period: 'this' | 'previous';
  /** Index of its first bucket in the whole range, and number of buckets. */
  readonly first: number;
  readonly buckets: number;
  /** Metrics whose cells are read from it; none if only its totals are. */
  readonly metrics: readonly string[];
  /** Metrics whose totals include its totals. */
  readonly totals: readonly string[];
}

/** Totals that neither one call nor a sum over parts can give. */
export interface UndefinedTotals {
  readonly metrics: readonly string[];
  /** What exceeds one call: the days of the range, or the values of a filter. */
  readonly why: 'range' | 'filter';
}

/** How the responses of several calls are joined into a table. */
export interface Join {
  /** The request for the whole table, regardless of limits. */
  readonly request: ReportRequest;
  /** All buckets of the range; the range itself without granularity; one for current counts. */
  readonly buckets: readonly Bucket[];
  /** The previous period, if it is compared. Its n-th bucket is compared with the n-th of the range. */
  readonly previous?: DateRange & { readonly buckets: readonly Bucket[] };
  readonly parts: readonly JoinPart[];
  /** Cells are sums over several parts. Otherwise each cell is in one part. */
  readonly sums: boolean;
  readonly undefinedTotals?: UndefinedTotals;
}

/** A deprecated metric that is requested as its successor, because the report follows replacements. */
export interface Replacement {
  readonly from: string;
  readonly to: string;
}

/**
 * Figures of a section over other days, which its own calls do not answer: of the year before, from the start of a year
 * or quarter on, or of the buckets of a scorecard's trend. Their requests have neither `order` nor `limit`, unless the days are the section's own and its calls
 * answer them. Totals are read from the response's totals if the request includes them, else from its single row.
 */
export interface PartnerPlan {
  readonly kind: 'previous_year' | 'to_date' | 'trend';
  /** What the figures belong to: the rows by bucket and group, or the totals (and a single row without bucket). */
  readonly of: 'rows' | 'totals';
  readonly range: DateRange;
  /** Regardless of limits. That of a trend may cover more days than `range`, and may be compared. */
  readonly request: ReportRequest;
  /** Id of its call; of the first part if there is a `join`. */
  readonly call: string;
  readonly join?: Join;
  /** How the bases that the join does not have are joined. */
  readonly baseJoin?: Join;
}

/** The calls of a section and how its table is read from them. */
export interface SectionPlan {
  /** As defined, with deprecated metrics replaced. */
  readonly section: Section;
  /** The section's own period, or the report's. */
  readonly period: Period;
  /** In the order of the definition. */
  readonly comparisons: readonly ComparisonKind[];
  /** The section's `to_date`, or the report's. Absent for current counts and lists. */
  readonly toDate?: ToDate;
  /** For `previous_year`, `to_date` and `trend`. A range that serves rows and totals alike is there twice, with the same call. */
  readonly partners: readonly PartnerPlan[];
  /** Id of its call; of the first part if there is a `join`. Absent for a text, which has none. */
  readonly call?: string;
  readonly join?: Join;
  readonly baseJoin?: Join;
  /** Of its ratios and durations, as far as the catalog has them. A call without room lacks their values. */
  readonly bases?: readonly MetricBase[];
  readonly replaced?: readonly Replacement[];
}

/** Ids of the calls of a section, or of a partner, each once. */
export const callsOf = ({ call, join }: Pick<SectionPlan, 'call' | 'join'>): readonly string[] =>
  join !== undefined ? [...new Set(join.parts.map((part) => part.call))] : call === undefined ? [] : [call];

/** Ids of all calls of a section, those of its partners included. */
export const allCallsOf = (section: SectionPlan): readonly string[] => [
  ...new Set([section, ...section.partners].flatMap(callsOf)),
];

/** The calls of a run, in order, as frozen data. */
export interface Plan {
  readonly org: string;
  readonly report: string;
  readonly definition: Definition;
  readonly period: Period;
  readonly calls: readonly Call[];
  readonly sections: readonly SectionPlan[];
  /** Version of the catalog the plan was checked against. */
  readonly registryVersion: number;
}
