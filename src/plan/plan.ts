import type { OrgRef } from '../contract/organization.ts';
import type { ReportRequest } from '../contract/report.ts';
import type { Definition, Section } from '../define/definition.ts';
import type { Period } from '../define/period.ts';
import type { Bucket, Days } from './buckets.ts';

/** One call of the metrics API. Two calls of a run with the same id are the same call and are made once. */
export interface ReportCall {
  readonly kind: 'report';
  /** 16 hex digits of SHA-256 over the organization and the canonical body: the same question has the same id. */
  readonly id: string;
  readonly org: OrgRef;
  readonly request: ReportRequest;
}

/** A list export: as many pages as the service has. It draws on the general rate, not on the metrics budget. */
export interface ListCall {
  readonly kind: 'list';
  readonly id: string;
  readonly org: OrgRef;
  readonly list: 'profiles';
  readonly ordering?: string;
  readonly search?: string;
}

export type Call = ReportCall | ListCall;

/** What one of several answers brings to a table. */
export interface Piece {
  readonly call: string;
  /** Whose figures: the period's, or those of the one before, which is asked without a comparison of its own. */
  readonly of: 'this' | 'previous';
  /** Place of its first bucket among those of the whole range, and how many it has. */
  readonly first: number;
  readonly buckets: number;
  /** Metrics whose cells are read from it; none where only its totals are. */
  readonly metrics: readonly string[];
  /** Metrics whose totals it has a part in. */
  readonly totals: readonly string[];
}

/** Totals that no call can give, and that cannot be added up from parts either. */
export interface UndefinedTotals {
  readonly metrics: readonly string[];
  /** What does not fit into one call: the days of the range, or the values of a filter. */
  readonly why: 'range' | 'filter';
}

/** How a table that no single call can give is put together. */
export interface Join {
  /** What one call would be asked if it could; the table is read as if it were the answer to this. */
  readonly request: ReportRequest;
  /** All buckets of the range; the range itself when it folds into one row a group; one for current counts. */
  readonly buckets: readonly Bucket[];
  /** The previous period of the whole range, when it is compared. Its n-th bucket is matched with the n-th of the range. */
  readonly previous?: Days & { readonly buckets: readonly Bucket[] };
  readonly pieces: readonly Piece[];
  /** Several pieces add up to one cell. Otherwise each cell is in one piece, as the service gave it. */
  readonly sums: boolean;
  readonly undefinedTotals?: UndefinedTotals;
}

/** A deprecated metric that was asked for as its successor, because the report follows replacements. */
export interface Replacement {
  readonly from: string;
  readonly to: string;
}

/** How one section reads its table from the answers. */
export interface SectionPlan {
  /** As the definition has it, with the successors of replaced metrics in their place. */
  readonly section: Section;
  /** Id of the call that answers it; of the first of its pieces where there is a `join`. */
  readonly call: string;
  readonly join?: Join;
  readonly replaced?: readonly Replacement[];
}

/** Ids of all calls that a section's table is read from, each once. */
export const callsOf = ({ call, join }: SectionPlan): readonly string[] =>
  join === undefined ? [call] : [...new Set(join.pieces.map((piece) => piece.call))];

/** What a run will ask, in order, as frozen data: compiled without a network, printed by `explain`. */
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
