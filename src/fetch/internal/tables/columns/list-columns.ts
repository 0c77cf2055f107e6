import { DocketError } from '../../../../base/error.ts';
import type { Catalog } from '../../../../contract/catalog.ts';
import type { ListRecord } from '../../../../contract/organization.ts';
import type { ListCall } from '../../../../plan/plan.ts';
import type { Column, Value } from '../../../dataset.ts';

/** Infers a list's columns from its records. */
export interface ListColumnCollector {
  /** Returns the record's scalar values; lists and objects are left out. */
  addRecord(record: ListRecord): Record<string, Value>;
  /** Id and name first, then all other scalar fields in the order in which they first appear. */
  columns(): Column[];
  /** Fields with lists or objects, in the order in which they first appear. */
  leftOut(): string[];
}

/** Names for the fields of a list and for the codes in them. */
export interface ListNames {
  /** Dimensions of the list's records. They name the codes in fields of the same name. */
  readonly catalog: Pick<Catalog, 'dimensions'>;
  /** The report's names, by field, dimension or code. They take precedence. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** The dimension of a list's field: `review_status` of `profiles` is `profile.review_status`. */
const toDimensionId = (list: ListCall['list'], field: string): string => `${list.replace(/s$/, '')}.${field}`;

/** These fields name a record, so a value that equals a code is not a code. */
const RECORD_NAMES: ReadonlySet<string> = new Set(['id', 'name']);

export function listColumnCollector(
  list: ListCall['list'] = 'profiles',
  { catalog, labels = {} }: ListNames = { catalog: { dimensions: [] } },
): ListColumnCollector {
  const kinds = new Map<string, Set<string>>([['id', new Set()]]);
  const nested = new Set<string>();
  const names = new Map(Object.entries(labels));
  const dimensions = new Map(catalog.dimensions.map((dimension) => [dimension.id, dimension]));
  /** Codes that the report has names for, by field. */
  const named = new Map<string, Set<string>>();
  const collectCode = (field: string, value: Value): void => {
    if (typeof value !== 'string' || !names.has(value) || RECORD_NAMES.has(field)) return;
    named.set(field, (named.get(field) ?? new Set()).add(value));
  };
  const collectValues = (field: string): Column['values'] => {
    if (RECORD_NAMES.has(field)) return undefined;
    const listed = dimensions.get(toDimensionId(list, field))?.values ?? [];
    const known = new Set(listed.map(({ value }) => value));
    const more = [...(named.get(field) ?? [])].filter((code) => !known.has(code));
    const values = [
      ...listed.map(({ value, label }) => ({ value, label: names.get(value) ?? label })),
      ...more.map((value) => ({ value, label: names.get(value) ?? value })),
    ];
    return values.length === 0 ? undefined : values;
  };
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
        collectCode(name, value);
        const seen = kinds.get(name) ?? new Set();
        kinds.set(name, value === null ? seen : seen.add(classifyValue(value)));
      }
      return values;
    },
    columns: () => {
      const fields = new Set(['id', ...(kinds.has('name') ? ['name'] : []), ...kinds.keys()]);
      return [...fields].map((name): Column => {
        const label = names.get(name) ?? names.get(toDimensionId(list, name)) ?? formatLabel(name);
        const values = collectValues(name);
        const type = findCommonType(kinds.get(name) ?? new Set());
        return { name, label, kind: 'field', type, unit: null, ...(values === undefined ? {} : { values }) };
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

const classifyValue = (value: string | number | boolean): string =>
  typeof value === 'number' ? (Number.isInteger(value) ? 'integer' : 'number') : typeof value;

/** The common type of all values; `string` if they differ. */
function findCommonType(kinds: ReadonlySet<string>): string {
  if (kinds.size === 2 && kinds.has('integer') && kinds.has('number')) return 'number';
  const [only] = kinds;
  return kinds.size === 1 && only !== undefined ? only : 'string';
}

/** `created_at` → `Created at`. */
function formatLabel(name: string): string {
  if (name === 'id') return 'ID';
  const words = name.replaceAll('_', ' ').trim();
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
