import type { Column, Table, Value } from '../../fetch/dataset.ts';
import { iterateRows } from '../../fetch/rows.ts';

/** A name that a font cannot show, and the code that is shown instead. */
export interface NameCode {
  readonly name: string;
  readonly code: string;
  readonly of: 'metric' | 'dimension' | 'group' | 'section';
}

export interface NameCodes {
  /** Whether a font has all characters of a text. */
  readonly shows: (text: string) => boolean;
  /** The text for a name that the font cannot show. */
  readonly write: (named: Pick<NameCode, 'name' | 'code'>) => string;
}

/** The service's id of a value. If the id cannot be shown either: a number, the same in all tables. */
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

/** Values in the rows that the catalog does not name. */
function unnamedValues({ rows }: Table, { name, values = [] }: Column): string[] {
  if ('path' in rows) return [];
  const named = new Set<Value>(values.map(({ value }) => value));
  const received = [...iterateRows(rows)].map((row) => row.values[name]);
  return [...new Set(received)].filter((value) => typeof value === 'string' && !named.has(value)) as string[];
}

/**
 * Replaces the names of metrics, dimensions and groups that a font cannot show, because two of them would look alike.
 * Fields of lists stay: they have no code.
 */
export function withNameCodes(
  tables: readonly Table[],
  names: NameCodes,
): { readonly tables: readonly Table[]; readonly codes: readonly NameCode[] } {
  const { shows, write } = names;
  const codeOf = createCodes(names);
  const codes = new Map<string, NameCode>();
  const named = (name: string, code: string, of: NameCode['of']): string => {
    if (shows(name)) return name;
    codes.set(JSON.stringify([name, code, of]), { name, code, of });
    return write({ name, code });
  };
  const coded = (table: Table, column: Column): Column => {
    if (column.kind !== 'metric' && column.kind !== 'dimension') return column;
    const label = named(column.label, column.name, column.kind);
    if (column.kind === 'metric') return label === column.label ? column : { ...column, label };
    const { name, values = [] } = column;
    const more = unnamedValues(table, column).filter((value) => !shows(value));
    const all = [...values, ...more.map((value) => ({ value, label: value }))];
    return {
      ...column,
      label,
      ...(all.length === 0
        ? {}
        : { values: all.map((each) => ({ ...each, label: named(each.label, codeOf(name, each.value), 'group') })) }),
    };
  };
  const changed = tables.map((table) => ({ ...table, columns: table.columns.map((column) => coded(table, column)) }));
  const found = [...codes.values()];
  return found.length === 0 ? { tables, codes: found } : { tables: changed, codes: found };
}

/** What `write` shows for a name; with all codes if several share the name. */
export function codedName(name: string, codes: readonly NameCode[], { write }: NameCodes): string {
  const own = new Set(codes.filter((each) => each.name === name).map(({ code }) => code));
  return own.size === 0 ? name : write({ name, code: [...own].join(', ') });
}

/** Replaces names within sentences by what `write` shows. If a name contains another, the longer one is replaced. */
export function withCodedNames(
  sentences: readonly string[],
  codes: readonly NameCode[],
  names: NameCodes,
): readonly string[] {
  const longestFirst = codes.map(({ name }) => name).sort((one, other) => other.length - one.length);
  const any = new RegExp(longestFirst.map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'g');
  return sentences.map((text) => text.replace(any, (name) => codedName(name, codes, names)));
}
