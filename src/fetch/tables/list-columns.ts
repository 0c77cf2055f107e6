import { DocketError } from '../../base/error.ts';
import type { ListRecord } from '../../contract/organization.ts';
import type { Column, Value } from '../dataset.ts';

/** Infers a list's columns from its records. */
export interface ListColumnCollector {
  /** The record's scalar values; lists and objects are left out. */
  addRecord(record: ListRecord): Record<string, Value>;
  /** Id and name first, then every other scalar field, in the order of appearance. */
  columns(): Column[];
  /** Fields with lists or objects, in the order of appearance. */
  leftOut(): string[];
}

export function listColumnCollector(): ListColumnCollector {
  const kinds = new Map<string, Set<string>>([['id', new Set()]]);
  const nested = new Set<string>();
  return {
    addRecord: (record) => {
      const values: Record<string, Value> = {};
      for (const [name, value] of Object.entries(record)) {
        if (!isValue(value)) {
          nested.add(name);
          continue;
        }
        if (typeof value === 'number' && !Number.isFinite(value)) throw notANumber(name, record.id);
        values[name] = value;
        const seen = kinds.get(name) ?? new Set();
        kinds.set(name, value === null ? seen : seen.add(kindOf(value)));
      }
      return values;
    },
    columns: () => {
      const names = new Set(['id', ...(kinds.has('name') ? ['name'] : []), ...kinds.keys()]);
      return [...names].map((name) => {
        return { name, label: labelOf(name), kind: 'field', type: typeOf(kinds.get(name) ?? new Set()), unit: null };
      });
    },
    leftOut: () => [...nested],
  };
}

const notANumber = (name: string, id: ListRecord['id']) =>
  new DocketError('api.unreadable', 'The list contains a number out of range.', {
    expected: `a number or null as ${name} of the record ${id}`,
    next: 'Try again; if it persists, report it to the service with the time of the call.',
  });

const isValue = (value: unknown): value is Value =>
  value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

const kindOf = (value: string | number | boolean): string =>
  typeof value === 'number' ? (Number.isInteger(value) ? 'integer' : 'number') : typeof value;

/** The common type of all values; `string` if they differ. */
function typeOf(kinds: ReadonlySet<string>): string {
  if (kinds.size === 2 && kinds.has('integer') && kinds.has('number')) return 'number';
  const [only] = kinds;
  return kinds.size === 1 && only !== undefined ? only : 'string';
}

/** `created_at` → `Created at`. */
function labelOf(name: string): string {
  if (name === 'id') return 'ID';
  const words = name.replaceAll('_', ' ').trim();
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
