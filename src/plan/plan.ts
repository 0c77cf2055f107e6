import type { OrgRef } from '../contract/organization.ts';
import type { ReportRequest } from '../contract/report.ts';
import type { Definition, Section } from '../define/definition.ts';
import type { Period } from '../define/period.ts';

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

/** How one section reads its table from the answers. */
export interface SectionPlan {
  readonly section: Section;
  /** Id of the call that answers it. */
  readonly call: string;
}

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
