import type { Section } from '../define/definition.ts';
import type { Note, Table } from './dataset.ts';
import type { ListAnswer } from './pages.ts';

/** A list as a table: its rows stay in their file. */
export function listTable(section: Section, { rows, columns, counts }: ListAnswer): Table {
  return {
    id: section.id,
    title: section.title ?? section.id,
    ...(section.description === undefined ? {} : { description: section.description }),
    granularity: null,
    current: false,
    range: null,
    compared: false,
    compareRange: null,
    asOf: null,
    columns,
    rows,
    filters: section.search === undefined ? [] : [`Search: ${section.search}`],
    notes: countNotes(counts, rows.length),
  };
}

function countNotes(counts: readonly number[], seen: number): Note[] {
  const last = counts.at(-1);
  if (counts.length > 1) {
    const text = `The list changed while it was read (it said ${counts.join(', then ')}); ${seen} records were seen.`;
    return [{ code: 'count_changed', text, incomplete: seen < (last ?? 0) }];
  }
  return last === undefined || last === seen
    ? []
    : [{ code: 'missing', text: `The list speaks of ${last} records; ${seen} were seen.`, incomplete: true }];
}
