import type { ReportRequest, ReportResponse } from '../../contract/report.ts';
import type { Section } from '../../definitions/schema/report-definition.ts';
import type { MissingData } from '../../i18n/note.ts';
import { numberOf } from '../answer-checks/value-types.ts';
import type { Table } from '../dataset.ts';
import { type PartnerAnswer, partnerTotals } from './comparisons/partner-answers.ts';

const requestsCompare = ({ time }: ReportRequest): boolean => time?.compare !== undefined;

const absentFrom = (values: Readonly<Record<string, unknown>> | null | undefined, names: readonly string[]) =>
  names.filter((name) => numberOf(values?.[name]) === undefined);

interface AnsweredSection {
  readonly section: Section;
  readonly request: ReportRequest;
  readonly response: ReportResponse;
  readonly partners?: readonly PartnerAnswer[];
}

/** Requested data other than rows that the responses lack. */
export function missingData(
  { section, request, response, partners = [] }: AnsweredSection,
  totals: Table['totals'],
  names: readonly string[],
): MissingData[] {
  const compares = requestsCompare(request);
  const uncompared = compares ? new Set(response.rows.flatMap((row) => absentFrom(row.compare, names))) : new Set();
  const missingTotals = totals === undefined ? [] : absentFrom(totals.values, names);
  const uncomparedTotals = totals === undefined || !compares ? [] : absentFrom(response.totals?.compare, names);
  return [
    ...missingMetrics(
      'previous',
      names,
      names.filter((name) => uncompared.has(name)),
    ),
    ...(section.totals && totals === undefined ? [{ of: 'totals' } as const] : []),
    ...missingTotals.map((metric): MissingData => ({ of: 'total', metric })),
    ...missingMetrics('previous_totals', names, uncomparedTotals),
    ...partners.flatMap((partner) => missingOfPartner(partner, names)),
  ];
}

function missingOfPartner(partner: PartnerAnswer, names: readonly string[]): MissingData[] {
  const { kind, of, request, response } = partner;
  const asked = names.filter((name) => request.metrics.includes(name));
  if (of === 'totals') {
    const what = kind === 'to_date' ? 'to_date' : 'year_before_totals';
    return missingMetrics(what, asked, absentFrom(partnerTotals(partner), asked));
  }
  const absent = new Set(response.rows.flatMap((row) => absentFrom(row, asked)));
  return missingMetrics(
    kind === 'previous_year' ? 'year_before' : kind,
    asked,
    asked.filter((name) => absent.has(name)),
  );
}

/** Without metrics if all of them lack it. */
function missingMetrics(
  of: Extract<MissingData, { readonly metrics: readonly string[] }>['of'],
  names: readonly string[],
  missing: readonly string[],
): MissingData[] {
  if (missing.length === 0) return [];
  return [{ of, metrics: missing.length === names.length ? [] : missing }];
}
