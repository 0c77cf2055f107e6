import type { Dataset, Row, Table, Value } from '../fetch/dataset.ts';
import { rowsIn } from '../fetch/rows.ts';
import { type Words, wordsOf } from '../words/words.ts';
import { fieldQuantities, type RawColumn } from './columns.ts';
import { type CsvColumn, type CsvSettings, csvLocale } from './csv.ts';
import { neutral } from './csv-text.ts';
import { civilDate, type Quantity, UNDEFINED_TEXT } from './format.ts';
import { markedNote, tableFacts, tableNotes } from './words.ts';

type FieldType = 'string' | 'number' | 'integer' | 'boolean' | 'date' | 'datetime';

/** A field of a Frictionless Table Schema; `unit` is ours. */
export interface SchemaField {
  /** The column's header in the file. */
  readonly name: string;
  readonly title: string;
  readonly type: FieldType;
  /** As the service names it: `count`, `ratio` (0 to 1), `seconds`, or one that we do not know. */
  readonly unit?: string;
  readonly description?: string;
  readonly constraints?: { readonly enum: readonly string[] };
}

/** https://datapackage.org/standard/table-schema/ */
export interface TableSchema {
  readonly $schema: string;
  readonly title: string;
  readonly description?: string;
  readonly fields: readonly SchemaField[];
  readonly missingValues: readonly string[];
}

/** What the values of a column are, as far as a schema may promise it for every one of them. */
interface Seen {
  readonly integer: boolean;
  readonly date: boolean;
  /** In the order of the rows. */
  readonly texts: ReadonlySet<string>;
}

/** Reads the rows once. Not for fields of a list: their kinds are known from their values already. */
function seen(rows: Iterable<Row>, columns: readonly RawColumn[]): readonly Seen[] {
  const all = columns.map(() => ({ integer: true, date: true, texts: new Set<string>() }));
  for (const row of rows) {
    for (const [index, { read, role }] of columns.entries()) {
      const known = all[index];
      const value: Value = read(row);
      if (known === undefined || value === null) continue;
      known.integer &&= Number.isInteger(value);
      known.date &&= role === 'bucket' && civilDate(value) !== undefined;
      if (role === 'label' && typeof value === 'string') known.texts.add(value);
    }
  }
  return all;
}

function typeOf({ role, source, total }: RawColumn, { integer, date }: Seen, quantity?: Quantity): FieldType {
  if (role === 'bucket') return date ? 'date' : 'string';
  if (source.kind === 'metric') {
    const whole = integer && (total === undefined || total === null || Number.isInteger(total));
    return source.type === 'integer' && whole ? 'integer' : 'number';
  }
  if (source.kind !== 'field') return 'string';
  if (quantity?.kind === 'identifier') return 'integer';
  if (quantity?.kind === 'amount') return 'number';
  if (quantity?.kind === 'day') return 'date';
  if (quantity?.kind === 'instant') return 'datetime';
  return source.type === 'boolean' ? 'boolean' : 'string';
}

const sentences = (parts: readonly (string | undefined)[]): string =>
  parts
    .filter((part) => part !== undefined && part !== '')
    .map((part) => (/[.!?]$/.test(part ?? '') ? part : `${part}.`))
    .join(' ');

function about({ role, source }: RawColumn, nothing: string, { table: { schema: words } }: Words): string {
  const metric = source.kind === 'metric';
  return sentences([
    role === 'previous' ? words.previous : undefined,
    source.description,
    metric && source.counts !== undefined ? words.countsAt(source.counts) : undefined,
    metric && source.aggregation !== undefined ? words.aggregation(source.aggregation) : undefined,
    metric && source.availableFrom !== undefined ? words.availableFrom(source.availableFrom) : undefined,
    role === 'bucket' ? words.firstDay : undefined,
    role === 'bucket' ? undefined : metric ? words.undefinedMeans(nothing) : words.emptyMeans(nothing),
    words.name(source.name),
  ]);
}

/** The labels of the catalog, then whatever else there is: a schema must not refuse the file beside it. */
function labelsOf({ role, source }: RawColumn, { texts }: Seen, guard: (text: string) => string): readonly string[] {
  if (role !== 'label' || source.values === undefined || source.values.length === 0) return [];
  return [...new Set([...source.values.map(({ label }) => label), ...texts])].map(guard);
}

/** What the columns of a CSV file hold, for programs: types, units, what an empty field means, and what is incomplete. */
export function tableSchema(
  dataset: Pick<Dataset, 'period' | 'sums'>,
  table: Table,
  columns: readonly CsvColumn[],
  settings: CsvSettings,
): TableSchema {
  const formatted = settings.values === 'formatted';
  const guard = settings.raw === true ? (text: string) => text : neutral;
  const locale = csvLocale(settings);
  const words = wordsOf(locale);
  const { schema } = words.table;
  const nothing = formatted ? `“${UNDEFINED_TEXT}”` : schema.emptyField;
  const views = columns.flatMap(({ view }) => view ?? []);
  // A list has fields alone, and may be long.
  const rows = views.some(({ source }) => source.kind !== 'field') ? rowsIn(table.rows) : [];
  const facts = new Map(seen(rows, views).map((known, index) => [views[index], known]));
  const quantities = formatted ? undefined : fieldQuantities(table);
  const fields = columns.map(({ header, view }): SchemaField => {
    const known = view === null ? undefined : facts.get(view);
    if (view === null || known === undefined) {
      const { running: title, runningMeans: description } = schema;
      return { name: header, title, type: formatted ? 'string' : 'boolean', description };
    }
    const { source } = view;
    const labels = labelsOf(view, known, guard);
    return {
      name: header,
      title: view.plainHeader,
      type: formatted ? 'string' : typeOf(view, known, quantities?.get(source.name)),
      ...(formatted || source.unit === null ? {} : { unit: source.unit }),
      description: about(view, nothing, words),
      ...(labels.length === 0 ? {} : { constraints: { enum: labels } }),
    };
  });
  const description = [
    ...tableFacts(dataset, table, locale),
    ...tableNotes(table, locale).map((note) => markedNote(note, words)),
  ].join('\n');
  return {
    $schema: 'https://datapackage.org/profiles/2.0/tableschema.json',
    title: table.title,
    ...(description === '' ? {} : { description }),
    fields,
    missingValues: [formatted ? UNDEFINED_TEXT : ''],
  };
}
