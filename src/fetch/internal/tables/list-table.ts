import type { Period } from '../../../definitions/periods/period.ts';
import type { Section } from '../../../definitions/schema/report-definition.ts';
import type { Table } from '../../dataset.ts';
import type { FetchedList } from '../../fetch-list.ts';
import type { TableNote } from '../../notes.ts';
import { sectionFields } from './section-fields.ts';

/** Makes a table from a list. Its rows stay in their file. */
export function listTable(
  section: Section,
  { rows, columns, leftOut, counts, ordered }: FetchedList,
  period: Period,
): Table {
  return {
    ...sectionFields(section, period),
    current: false,
    range: null,
    comparisons: [],
    asOf: null,
    running: false,
    columns,
    rows,
    filters: section.search === undefined ? [] : [{ search: section.search }],
    notes: [...countNotes(counts, rows.length), ...orderNote(ordered, section), ...leftOutNote(leftOut)],
  };
}

function countNotes(counts: readonly number[], seen: number): TableNote[] {
  const last = counts.at(-1);
  if (counts.length > 1) {
    const message = { id: 'list_changed', of: { counts, seen } } as const;
    return [{ code: 'count_changed', message, incomplete: seen < (last ?? 0) }];
  }
  return last === undefined || last === seen
    ? []
    : [{ code: 'missing', message: { id: 'list_count', of: { said: last, seen } }, incomplete: true }];
}

const orderNote = (ordered: boolean, { ordering: by }: Section): TableNote[] =>
  ordered || by === undefined
    ? []
    : [{ code: 'order_mismatch', message: { id: 'list_order', of: { by } }, incomplete: true }];

const leftOutNote = (fields: readonly string[]): TableNote[] =>
  fields.length === 0
    ? []
    : [{ code: 'fields_left_out', message: { id: 'list_fields', of: { fields } }, incomplete: false }];
