import type { Section } from '../define/definition.ts';
import type { Column, Note, Row, Table, Value } from './dataset.ts';
import type { ListAnswer } from './pages.ts';

/** A list as a table: id and name first, then every other field that holds single values, in the order they were seen. */
export function listTable(section: Section, { records, counts }: ListAnswer): Table {
  const names = new Set(['id', ...(records.some((record) => 'name' in record) ? ['name'] : [])]);
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) if (isValue(value)) names.add(name);
  }
  const columns = [...names].map((name): Column => {
    return {
      name,
      label: labelOf(name),
      kind: 'field',
      type: typeOf(records.map((record) => record[name])),
      unit: null,
    };
  });
  const rows = records.map((record): Row => {
    const values = columns.map(({ name }): [string, Value] => {
      const value = record[name];
      return [name, isValue(value) ? value : null];
    });
    return { values: Object.fromEntries(values), partial: false };
  });
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

const isValue = (value: unknown): value is Value =>
  value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

/** The one type all of its values have; `string` when they differ, for then no other reading holds for all. */
function typeOf(values: readonly unknown[]): string {
  const kinds = new Set(values.filter((value) => value !== null && value !== undefined).map(kindOf));
  if (kinds.size === 2 && kinds.has('integer') && kinds.has('number')) return 'number';
  const [only] = kinds;
  return kinds.size === 1 && only !== undefined ? only : 'string';
}

const kindOf = (value: unknown): string =>
  typeof value === 'number' ? (Number.isInteger(value) ? 'integer' : 'number') : typeof value;

/** `created_at` → `Created at`. */
function labelOf(name: string): string {
  if (name === 'id') return 'ID';
  const words = name.replaceAll('_', ' ').trim();
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
