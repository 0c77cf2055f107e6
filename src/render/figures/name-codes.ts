import type { Column, Table, Value } from '../../fetch/dataset.ts';
import { iterateRows } from '../../fetch/rows.ts';

/** A name that a font cannot show, and what stands for it. */
export interface NameCode {
  readonly name: string;
  readonly code: string;
}

export interface NameCodes {
  /** Whether a font has all characters of a text. */
  readonly shows: (text: string) => boolean;
  /** What is shown for a name that it does not have. */
  readonly write: (named: NameCode) => string;
}

/** The service's ids; of those that cannot be shown either, a number, the same in all tables. */
type CodeOf = (dimension: string, value: string) => string;

function createCodes({ shows }: NameCodes): CodeOf {
  const numbers = new Map<string, number>();
  return (dimension, value) => {
    if (shows(value)) return value;
    const key = JSON.stringify([dimension, value]);
    const number = numbers.get(key) ?? numbers.size + 1;
    numbers.set(key, number);
    return `#${number}`;
  };
}

/** Values that the catalog does not name. */
function unnamedValues({ rows }: Table, { name, values = [] }: Column): string[] {
  if ('path' in rows) return [];
  const named = new Set<Value>(values.map(({ value }) => value));
  const received = [...iterateRows(rows)].map((row) => row.values[name]);
  return [...new Set(received)].filter((value) => typeof value === 'string' && !named.has(value)) as string[];
}

/**
 * Tables whose names of metrics, dimensions and groups are all shown: two names that a font cannot show look alike. Fields of
 * lists, which have no code, stay.
 */
export function withNameCodes(
  tables: readonly Table[],
  names: NameCodes,
): { readonly tables: readonly Table[]; readonly codes: readonly NameCode[] } {
  const { shows, write } = names;
  const codeOf = createCodes(names);
  const codes = new Map<string, NameCode>();
  const named = (name: string, code: string): string => {
    if (shows(name)) return name;
    codes.set(JSON.stringify([name, code]), { name, code });
    return write({ name, code });
  };
  const coded = (table: Table, column: Column): Column => {
    if (column.kind !== 'metric' && column.kind !== 'dimension') return column;
    const label = named(column.label, column.name);
    if (column.kind === 'metric') return label === column.label ? column : { ...column, label };
    const { name, values = [] } = column;
    const more = unnamedValues(table, column).filter((value) => !shows(value));
    const all = [...values, ...more.map((value) => ({ value, label: value }))];
    return {
      ...column,
      label,
      ...(all.length === 0
        ? {}
        : { values: all.map((each) => ({ ...each, label: named(each.label, codeOf(name, each.value)) })) }),
    };
  };
  const changed = tables.map((table) => ({ ...table, columns: table.columns.map((column) => coded(table, column)) }));
  const found = [...codes.values()];
  return found.length === 0 ? { tables, codes: found } : { tables: changed, codes: found };
}

/** A sentence with the names that it contains as `write` shows them. */
export const withCodedNames = (text: string, codes: readonly NameCode[], { write }: NameCodes): string =>
  codes.reduce((shown, code) => shown.replaceAll(code.name, () => write(code)), text);
