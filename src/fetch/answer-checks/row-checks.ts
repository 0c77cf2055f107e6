import type { Catalog } from '../../contract/catalog.ts';
import type { ReportRow } from '../../contract/report.ts';
import type { RowPlace } from '../../words/note.ts';
import { clipName } from '../clip.ts';
import type { TableNote } from '../dataset.ts';
import { bucketOf, type CheckContext, type Checked, finding } from './answer.ts';
import { excludingDimension } from './filtered-rows.ts';

/** How many rows are like this, and the first of them. */
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
  readonly missing: Tally<RowPlace>;
  readonly duplicate: Tally<RowPlace>;
  readonly unexpected: Tally<string | null>;
  readonly excluded: Tally<{ readonly dimension: string; readonly value: string }>;
}

/**
 * Rows that are not those which the request makes due: one for every bucket and group (specification §2.8, rule 1), of
 * groups that pass the filters, and no more than its limit.
 */
export function rowFindings(answers: readonly Checked[], { catalog }: CheckContext): TableNote[] {
  const found: RowTallies = { missing: tally(), duplicate: tally(), unexpected: tally(), excluded: tally() };
  for (const answer of answers) {
    tallyRows(answer, found, catalog);
    tallyExcluded(answer, found, catalog);
  }
  const { missing, duplicate, unexpected, excluded } = found;
  return [
    ...(missing.first === undefined
      ? []
      : [finding('missing_rows', { id: 'missing_rows', of: { rows: missing.rows, first: missing.first } })]),
    ...(duplicate.first === undefined
      ? []
      : [finding('duplicate_rows', { id: 'duplicate_rows', of: { rows: duplicate.rows, first: duplicate.first } })]),
    ...(unexpected.first === undefined
      ? []
      : [
          finding('unexpected_buckets', {
            id: 'unexpected_buckets',
            of: { rows: unexpected.rows, first: unexpected.first },
          }),
        ]),
    ...(excluded.first === undefined
      ? []
      : [finding('filter_mismatch', { id: 'filter_mismatch', of: { rows: excluded.rows, ...excluded.first } })]),
    ...limitFindings(answers, catalog),
  ];
}

const labelOf = (dimension: string, value: unknown, { dimensions }: Catalog): string => {
  const known = dimensions.find(({ id }) => id === dimension)?.values.find((candidate) => candidate.value === value);
  return known?.label ?? (typeof value === 'string' ? clipName(value) : '–');
};

function tallyRows(answer: Checked, { missing, duplicate, unexpected }: RowTallies, catalog: Catalog): void {
  const { request, response, buckets } = answer;
  const dimensions = request.dimensions ?? [];
  const due = new Set(buckets);
  const valuesOf = (row: ReportRow) => dimensions.map((id) => row[id] ?? null);
  const labels = (values: readonly unknown[]) =>
    values.map((value, nth) => labelOf(dimensions[nth] ?? '', value, catalog));
  const groups = new Map<string, { readonly values: readonly unknown[]; readonly seen: Set<string | null> }>();
  // Without dimensions there is one group, and rows of it are due. Which groups there are is the service's to say.
  if (dimensions.length === 0) groups.set('[]', { values: [], seen: new Set() });
  for (const row of response.rows) {
    const values = valuesOf(row);
    const bucket = bucketOf(answer, row);
    if (bucket === undefined || !due.has(bucket)) {
      add(unexpected, () => bucket ?? null);
      continue;
    }
    const name = JSON.stringify(values);
    const group = groups.get(name) ?? { values, seen: new Set() };
    groups.set(name, group);
    if (group.seen.has(bucket)) add(duplicate, () => ({ bucket, group: labels(values) }));
    group.seen.add(bucket);
  }
  // A cut answer does not say which rows it would have had.
  if (response.meta.truncated) return;
  for (const { values, seen } of groups.values()) {
    if (seen.size === buckets.length) continue;
    for (const bucket of buckets) if (!seen.has(bucket)) add(missing, () => ({ bucket, group: labels(values) }));
  }
}

function tallyExcluded({ request, response }: Checked, { excluded }: RowTallies, catalog: Catalog): void {
  const excludes = excludingDimension(request);
  for (const row of response.rows) {
    const dimension = excludes(row);
    if (dimension === undefined) continue;
    add(excluded, () => ({
      dimension: catalog.dimensions.find(({ id }) => id === dimension)?.label ?? dimension,
      value: labelOf(dimension, row[dimension], catalog),
    }));
  }
}

function limitFindings(answers: readonly Checked[], { limits }: Catalog): TableNote[] {
  const over = answers
    .map(({ request, response }) => ({ limit: request.limit ?? limits.max_rows, rows: response.rows.length }))
    .find(({ limit, rows }) => rows > limit);
  return over === undefined ? [] : [finding('limit_exceeded', { id: 'limit_exceeded', of: over })];
}
