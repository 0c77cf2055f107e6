import type { Dataset, Row, Table, Value } from '../../../fetch/dataset.ts';
import { iterateRows } from '../../../fetch/rows.ts';
import { messagesFor, type Words } from '../../../i18n/messages.ts';
import { UNDEFINED_TEXT } from '../../figures/format-value.ts';
import { fieldQuantities, parseCivilDate, type Quantity } from '../../figures/quantity.ts';
import type { RawColumn } from '../../figures/raw-columns.ts';
import { tableDescription } from '../../table-notes.ts';
import { fieldText, SEPARATORS } from './csv-fields.ts';
import { type CsvColumn, type CsvSettings, csvLocale, type SchemaField } from './section-csv.ts';
import { schemaTargets } from './status-fields.ts';

type FieldType = SchemaField['type'];

/** A Table Schema, https://datapackage.org/standard/table-schema/ */
export interface TableSchema {
  readonly $schema: string;
  readonly title: string;
  readonly description?: string;
  /** A Table Dialect, https://datapackage.org/standard/table-dialect/ */
  readonly dialect: {
    readonly delimiter: string;
    readonly quoteChar: string;
    readonly doubleQuote: boolean;
    readonly lineTerminator: string;
  };
  readonly fields: readonly SchemaField[];
  readonly missingValues: readonly string[];
}

/** Describes how fields are separated and quoted. */
export const csvDialect = (settings: CsvSettings): TableSchema['dialect'] => ({
  delimiter: SEPARATORS[settings.separator],
  quoteChar: '"',
  doubleQuote: true,
  lineTerminator: '\r\n',
});

/** What holds for every value of a column. */
interface ColumnContents {
  readonly integer: boolean;
  readonly date: boolean;
  /** In the order in which the rows have them. */
  readonly texts: ReadonlySet<string>;
}

/** Scans the rows once. */
function collectContents(rows: Iterable<Row>, columns: readonly RawColumn[]): readonly ColumnContents[] {
  const all = columns.map(() => ({ integer: true, date: true, texts: new Set<string>() }));
  for (const row of rows) {
    for (const [index, { read, role }] of columns.entries()) {
      const contents = all[index];
      const value: Value = read(row);
      if (contents === undefined || value === null) continue;
      contents.integer &&= Number.isInteger(value);
      contents.date &&= role === 'bucket' && parseCivilDate(value) !== undefined;
      if (role === 'label' && typeof value === 'string') contents.texts.add(value);
    }
  }
  return all;
}

function selectFieldType(
  { role, source, total }: RawColumn,
  { integer, date }: ColumnContents,
  quantity?: Quantity,
): FieldType {
  if (role === 'bucket') return date ? 'date' : 'string';
  if (source.kind === 'metric') {
    const allIntegers = integer && (total === undefined || total === null || Number.isInteger(total));
    return source.type === 'integer' && allIntegers ? 'integer' : 'number';
  }
  if (source.kind !== 'field') return 'string';
  if (quantity?.kind === 'identifier') return 'integer';
  if (quantity?.kind === 'amount') return 'number';
  if (quantity?.kind === 'day') return 'date';
  if (quantity?.kind === 'instant') return 'datetime';
  return source.type === 'boolean' ? 'boolean' : 'string';
}

const joinSentences = (parts: readonly (string | undefined)[]): string =>
  parts
    .filter((part) => part !== undefined && part !== '')
    .map((part) => (/[.!?]$/.test(part ?? '') ? part : `${part}.`))
    .join(' ');

function describeField(
  { role, source, comparison }: RawColumn,
  { toDate }: Table,
  emptyText: string,
  { table: { schema: words } }: Words,
): string {
  const metric = source.kind === 'metric';
  return joinSentences([
    role === 'previous' && comparison !== undefined ? words.previous(comparison) : undefined,
    role === 'to_date' && toDate !== undefined ? words.toDate(toDate.unit, toDate.range.from) : undefined,
    source.description,
    metric && source.counts !== undefined ? words.countsAt(source.counts) : undefined,
    metric && source.aggregation !== undefined ? words.aggregation(source.aggregation) : undefined,
    metric && source.availableFrom !== undefined ? words.availableFrom(source.availableFrom) : undefined,
    role === 'bucket' ? words.firstDay : undefined,
    role === 'bucket' ? undefined : metric ? words.undefinedMeans(emptyText) : words.emptyMeans(emptyText),
    words.name(source.name),
  ]);
}

/**
 * The labels in the catalog and the other values in the rows, because the schema must accept its file. For a list it
 * has none: the rows of a list are not read for it.
 */
function enumLabels(
  { role, source }: RawColumn,
  { texts }: ColumnContents,
  escapeText: (text: string) => string,
): readonly string[] {
  if (role !== 'label' || source.kind === 'field') return [];
  if (source.values === undefined || source.values.length === 0) return [];
  return [...new Set([...source.values.map(({ label }) => label), ...texts])].map(escapeText);
}

/** Describes the columns of a CSV file for programs: types, units, the meaning of empty fields, and incomplete data. */
export function tableSchema(
  dataset: Pick<Dataset, 'period' | 'sums' | 'targets' | 'judgements'>,
  table: Table,
  columns: readonly CsvColumn[],
  settings: CsvSettings,
): TableSchema {
  const formatted = settings.values === 'formatted';
  const escapeText = (text: string): string => fieldText(text, settings);
  const locale = csvLocale(settings);
  const words = messagesFor(locale);
  const { schema } = words.table;
  const emptyText = formatted ? `“${UNDEFINED_TEXT}”` : schema.emptyField;
  const views = columns.flatMap(({ view }) => view ?? []);
  // A list may be long and has only fields, which `fieldQuantities` scans.
  const rows = views.some(({ source }) => source.kind !== 'field') ? iterateRows(table.rows) : [];
  const contentsOf = new Map(collectContents(rows, views).map((contents, index) => [views[index], contents]));
  const quantities = formatted ? undefined : fieldQuantities(table);
  const fields = columns.map(({ header, view, unlike: notComparable, clipped, described }): SchemaField => {
    if (described !== undefined) return described;
    const contents = view === null ? undefined : contentsOf.get(view);
    if (view === null || contents === undefined) {
      if (notComparable !== undefined) {
        const description = schema.unlikeMeans(notComparable, emptyText);
        return {
          name: header,
          title: schema.unlike(notComparable),
          type: 'string',
          comparison: notComparable,
          description,
        };
      }
      const [title, description] =
        clipped === true ? [schema.clipped, schema.clippedMeans] : [schema.running, schema.runningMeans];
      return { name: header, title, type: formatted ? 'string' : 'boolean', description };
    }
    const { source } = view;
    const labels = enumLabels(view, contents, escapeText);
    const targets = view.role === 'value' ? schemaTargets(dataset, table.id, source.name) : [];
    return {
      name: header,
      title: view.plainHeader,
      type: formatted ? 'string' : selectFieldType(view, contents, quantities?.get(source.name)),
      ...(formatted || source.unit === null ? {} : { unit: source.unit }),
      ...(view.comparison === undefined ? {} : { comparison: view.comparison }),
      ...(view.role === 'to_date' && table.toDate !== undefined ? { to_date: table.toDate.unit } : {}),
      description: describeField(view, table, emptyText, words),
      ...(labels.length === 0 ? {} : { constraints: { enum: labels } }),
      ...(targets.length === 0 ? {} : { targets }),
    };
  });
  const description = tableDescription(dataset, table, locale);
  return {
    $schema: 'https://datapackage.org/profiles/2.0/tableschema.json',
    title: table.title,
    ...(description === '' ? {} : { description }),
    dialect: csvDialect(settings),
    fields,
    missingValues: [formatted ? UNDEFINED_TEXT : ''],
  };
}
