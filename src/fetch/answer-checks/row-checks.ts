import type { Catalog } from '../../contract/catalog.ts';
import type { ReportRequest, ReportResponse, ReportRow } from '../../contract/report.ts';
import type { RowKey } from '../../i18n/note.ts';
import { truncateId } from '../client/untrusted-input.ts';
import type { TableNote } from '../notes.ts';
import { type CheckContext, type CheckedAnswer, incompleteNote, readBucket } from './checked-answer.ts';

/** How many rows a finding affects, and the first of them. */
interface Tally<First> {
  rows: number;
  first: First | undefined;
}

const tally = <First>(): Tally<First> => ({ rows: 0, first: undefined });

function add<First>(to: Tally<First>, first: () => First): void {
  if (to.rows === 0) to.first = first();
  to.rows += 1;
}

interface RowTallies {
  readonly missing: Tally<RowKey>;
  readonly duplicate: Tally<RowKey>;
  readonly unexpected: Tally<string | null>;
  readonly excluded: Tally<{ readonly dimension: string; readonly value: string }>;
}

/**
 * Reports rows that deviate from the expected ones: one row for every bucket and group (specification §2.8, rule 1),
 * only groups that pass the filters, and at most `limit` rows.
 */
export function rowFindings(answers: readonly CheckedAnswer[], { catalog }: CheckContext): TableNote[] {
  const found: RowTallies = { missing: tally(), duplicate: tally(), unexpected: tally(), excluded: tally() };
  for (const answer of answers) {
    tallyRows(answer, found, catalog);
    tallyExcluded(answer, found, catalog);
  }
  const { missing, duplicate, unexpected, excluded } = found;
  return [
    ...(missing.first === undefined
      ? []
      : [incompleteNote('missing_rows', { id: 'missing_rows', of: { rows: missing.rows, first: missing.first } })]),
    ...(duplicate.first === undefined
      ? []
      : [
          incompleteNote('duplicate_rows', {
            id: 'duplicate_rows',
            of: { rows: duplicate.rows, first: duplicate.first },
          }),
        ]),
    ...(unexpected.first === undefined
      ? []
      : [
          incompleteNote('unexpected_buckets', {
            id: 'unexpected_buckets',
            of: { rows: unexpected.rows, first: unexpected.first },
          }),
        ]),
    ...(excluded.first === undefined
      ? []
      : [incompleteNote('filter_mismatch', { id: 'filter_mismatch', of: { rows: excluded.rows, ...excluded.first } })]),
    ...limitFindings(answers, catalog),
  ];
}

const formatLabel = (dimension: string, value: unknown, { dimensions }: Catalog): string => {
  const known = dimensions.find(({ id }) => id === dimension)?.values.find((candidate) => candidate.value === value);
  return known?.label ?? (typeof value === 'string' ? truncateId(value) : '–');
};

function tallyRows(answer: CheckedAnswer, { missing, duplicate, unexpected }: RowTallies, catalog: Catalog): void {
  const { request, response, buckets } = answer;
  const dimensions = request.dimensions ?? [];
  const expectedBuckets = new Set(buckets);
  const readValues = (row: ReportRow) => dimensions.map((id) => row[id] ?? null);
  const labels = (values: readonly unknown[]) =>
    values.map((value, nth) => formatLabel(dimensions[nth] ?? '', value, catalog));
  const groups = new Map<string, { readonly values: readonly unknown[]; readonly seen: Set<string | null> }>();
  // Without dimensions there is exactly one group. With dimensions the service decides which groups exist.
  if (dimensions.length === 0) groups.set('[]', { values: [], seen: new Set() });
  for (const row of response.rows) {
    const values = readValues(row);
    const bucket = readBucket(answer, row);
    if (bucket === undefined || !expectedBuckets.has(bucket)) {
      add(unexpected, () => bucket ?? null);
      continue;
    }
    const name = JSON.stringify(values);
    const group = groups.get(name) ?? { values, seen: new Set() };
    groups.set(name, group);
    if (group.seen.has(bucket)) add(duplicate, () => ({ bucket, group: labels(values) }));
    group.seen.add(bucket);
  }
  // In a truncated response nobody knows which rows are missing.
  if (response.meta.truncated) return;
  for (const { values, seen } of groups.values()) {
    if (seen.size === buckets.length) continue;
    for (const bucket of buckets) if (!seen.has(bucket)) add(missing, () => ({ bucket, group: labels(values) }));
  }
}

function tallyExcluded({ request, response }: CheckedAnswer, { excluded }: RowTallies, catalog: Catalog): void {
  const excludes = excludingDimension(request);
  for (const row of response.rows) {
    const dimension = excludes(row);
    if (dimension === undefined) continue;
    add(excluded, () => ({
      dimension: catalog.dimensions.find(({ id }) => id === dimension)?.label ?? dimension,
      value: formatLabel(dimension, row[dimension], catalog),
    }));
  }
}

function limitFindings(answers: readonly CheckedAnswer[], { limits }: Catalog): TableNote[] {
  const over = answers
    .map(({ request, response }) => ({ limit: request.limit ?? limits.max_rows, rows: response.rows.length }))
    .find(({ limit, rows }) => rows > limit);
  return over === undefined ? [] : [incompleteNote('limit_exceeded', { id: 'limit_exceeded', of: over })];
}

/** Returns the dimension by which a row fails the request's filters; undefined if the row passes. */
function excludingDimension({ filters = [], dimensions = [] }: ReportRequest): (row: ReportRow) => string | undefined {
  const rules = filters
    .filter(({ dimension }) => dimensions.includes(dimension))
    .map(({ dimension, op, values }) => ({ dimension, values: new Set<unknown>(values), included: op !== 'not_in' }));
  return (row) =>
    rules.find(({ dimension, values, included }) => row[dimension] != null && values.has(row[dimension]) !== included)
      ?.dimension;
}

/** Removes rows that the request's filters exclude. A join would otherwise add them to the rows of another call. */
export function withoutExcluded(request: ReportRequest, response: ReportResponse): ReportResponse {
  const excludes = excludingDimension(request);
  const rows = response.rows.filter((row) => excludes(row) === undefined);
  return rows.length === response.rows.length ? response : { ...response, rows };
}
