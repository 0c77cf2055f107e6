import type { Catalog } from '../../contract/catalog.ts';
import type { ReportResponse } from '../../contract/report.ts';
import type { NoteParams } from '../../i18n/note.ts';
import { truncateId } from '../client/untrusted-input.ts';
import type { TableNote } from '../notes.ts';
import { type CallAnswer, type CheckContext, incompleteNote } from './checked-answer.ts';

type Column = ReportResponse['columns'][number];

/** A column whose description differs from the catalog. */
export type ColumnMismatch = NoteParams['column_mismatch']['columns'][number] & { readonly id: string };

/** Whether a label can be shown at all: not empty, without control characters. */
export const isReadableLabel = (label: string): boolean => label.trim() !== '' && !/\p{Cc}/u.test(label);

/** Types that values of each kind cannot have. All other types are allowed, because a newer service may add some. */
const EXCLUDED_TYPES = {
  metric: ['date', 'enum'],
  dimension: ['ratio', 'duration'],
  time: ['enum', 'integer', 'number', 'ratio', 'duration'],
} as const satisfies Record<string, readonly string[]>;
type Kind = keyof typeof EXCLUDED_TYPES;

/** Whether the type excludes the kind, e.g. a metric of type `date`. */
export const excludesKind = (kind: Kind, type: string): boolean =>
  EXCLUDED_TYPES[kind].some((each) => each === type.toLowerCase());

/**
 * Finds columns with a wrong description: an unreadable label, the label of another metric or dimension, another kind,
 * a type that excludes the kind, or a unit on a column that is not a metric. A label that only differs is not an error:
 * the catalog's label is shown.
 */
export function columnMismatches(
  answers: readonly Pick<CallAnswer, 'response'>[],
  { catalog, published, metrics, request }: Pick<CheckContext, 'catalog' | 'published' | 'metrics' | 'request'>,
): ColumnMismatch[] {
  const described = [...published.metrics, ...published.dimensions];
  const dimensions = catalog.dimensions.filter(({ id }) => request.dimensions?.includes(id));
  const own = new Map(described.map(({ id, label }) => [id, label]));
  const check = (column: Column, kind: Kind, label: string): ColumnMismatch[] => {
    const { name: id } = column;
    const said = (of: ColumnMismatch['of'], got: string) => [{ id, label, of, got: truncateId(got) }];
    const isOthers =
      column.label !== own.get(id) && described.some((each) => each.id !== id && each.label === column.label);
    if (!isReadableLabel(column.label) || isOthers) return said('label', column.label);
    if (column.kind !== kind) return said('kind', column.kind);
    if (excludesKind(kind, column.type)) return said('type', column.type);
    return kind !== 'metric' && column.unit != null && column.unit !== '' ? said('unit', column.unit) : [];
  };
  const columns = answers.flatMap(({ response }) => response.columns);
  const expected = [
    { id: 'bucket', label: 'bucket', kind: 'time' as const },
    ...dimensions.map(({ id, label }) => ({ id, label, kind: 'dimension' as const })),
    ...metrics.map(({ id, label }) => ({ id, label, kind: 'metric' as const })),
  ];
  return expected.flatMap(({ id, label, kind }) =>
    columns
      .filter(({ name }) => name === id)
      .flatMap((column) => check(column, kind, label))
      .slice(0, 1),
  );
}

export function columnFindings(mismatches: readonly ColumnMismatch[]): TableNote[] {
  if (mismatches.length === 0) return [];
  const columns = mismatches.map(({ label, of, got }) => ({ label, of, got }));
  return [incompleteNote('unit_mismatch', { id: 'column_mismatch', of: { columns } })];
}

/** The labels of a response that differ from the catalog's, by column; undefined if none differs. */
export function otherLabels(
  { columns }: Pick<ReportResponse, 'columns'>,
  { metrics, dimensions }: Pick<Catalog, 'metrics' | 'dimensions'>,
): Readonly<Record<string, string>> | undefined {
  const own = new Map([...metrics, ...dimensions].map(({ id, label }) => [id, label]));
  const other = columns.filter(({ name, label }) => own.has(name) && own.get(name) !== label);
  return other.length === 0 ? undefined : Object.fromEntries(other.map(({ name, label }) => [name, truncateId(label)]));
}
