import { createReadStream } from 'node:fs';
import { SaxesParser } from 'saxes';

interface Open {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** For each element of a flat OpenDocument file, the attributes that name cells. */
const ABOUT: Readonly<Record<string, readonly string[]>> = {
  'table:named-range': ['table:name', 'table:cell-range-address', 'table:base-cell-address'],
  'table:named-expression': ['table:name', 'table:expression'],
  'table:database-range': ['table:name', 'table:target-range-address'],
  'table:data-pilot-table': ['table:name', 'table:target-range-address'],
  'table:source-cell-range': ['table:cell-range-address', 'table:name'],
  'calcext:conditional-format': ['calcext:target-range-address'],
  'calcext:condition': ['calcext:value', 'calcext:base-cell-address'],
  'calcext:sparkline': ['calcext:cell-address', 'calcext:data-range'],
  'chart:categories': ['table:cell-range-address'],
  'chart:series': ['chart:values-cell-range-address', 'chart:label-cell-address'],
  'chart:domain': ['table:cell-range-address'],
  'table:table': ['table:print-ranges'],
  'table:detective': [],
};
/** A longer repetition is the empty rest of a sheet. */
const MAX_REPEATED = 20_000;

/**
 * What LibreOffice reads in a workbook, from its flat OpenDocument copy: every formula with its value, and every range of a
 * name, chart, rule, validation and pivot table. The lines have the order of the file, numbers have 12 digits.
 */
export async function libreofficeFacts(file: string): Promise<string[]> {
  const facts: string[] = [];
  const open: Open[] = [];
  const validations = new Map<string, string>();
  let [sheet, row, column] = ['', 0, 0];
  let [rowsRepeated, depth] = [1, 0];
  let cell: { name: string; facts: string[] } | undefined;
  const parser = new SaxesParser();
  parser.on('opentag', ({ name, attributes: read }) => {
    const attributes = read as Record<string, string>;
    open.push({ name, attributes });
    // Charts are nested documents with a table of their data.
    if (name === 'office:document') depth += 1;
    if (depth === 1) {
      if (name === 'table:table') [sheet, row, column] = [attributes['table:name'] ?? '', 0, 0];
      if (name === 'table:content-validation')
        validations.set(attributes['table:name'] ?? '', asCells(attributes['table:condition'] ?? ''));
      if (name === 'table:table-row') {
        [row, column] = [row + 1, 0];
        rowsRepeated = Number(attributes['table:number-rows-repeated'] ?? 1);
      }
      if (name === 'table:table-cell' || name === 'table:covered-table-cell')
        cell = { name: `${sheet}.${columnName(column + 1)}${row}`, facts: contentOf(attributes, validations) };
    }
    const about = ABOUT[name]?.flatMap((attribute) => attributes[attribute] ?? []) ?? [];
    if (about.length > 0) facts.push(`${name} ${about.join(' ')}`);
  });
  parser.on('closetag', ({ name }) => {
    const own = open.pop();
    if (name === 'office:document') depth -= 1;
    if (depth !== 1) return;
    if (name === 'table:table-row') row += rowsRepeated - 1;
    if (cell === undefined || (name !== 'table:table-cell' && name !== 'table:covered-table-cell')) return;
    const repeated = Number(own?.attributes['table:number-columns-repeated'] ?? 1);
    if (cell.facts.length > 0 && repeated * rowsRepeated < MAX_REPEATED)
      facts.push(`${cell.name} x${repeated}x${rowsRepeated} ${cell.facts.join(' ')}`);
    column += repeated;
    cell = undefined;
  });
  parser.on('error', (error) => {
    throw error;
  });
  for await (const chunk of createReadStream(file, 'utf8')) parser.write(chunk as string);
  parser.close();
  return facts;
}

/** Writes a list of one cell in one way: `[.$C$5:.$C$5]` becomes `[.$C$5]`. */
const asCells = (condition: string) => condition.replace(/\[([^\]:]*)\.([^\].:]+):\.\2\]/g, '[$1.$2]');

function contentOf(attributes: Readonly<Record<string, string>>, validations: ReadonlyMap<string, string>): string[] {
  const value = attributes['office:value'];
  const shown = [
    attributes['table:formula'],
    value === undefined ? undefined : String(Number(Number(value).toPrecision(12))),
    attributes['office:date-value'] ?? attributes['office:boolean-value'] ?? attributes['office:string-value'],
    attributes['calcext:value-type'] === 'error' ? 'error' : undefined,
    attributes['table:number-matrix-rows-spanned'] && 'array',
    validations.get(attributes['table:content-validation-name'] ?? ''),
  ];
  return shown.filter((one): one is string => one !== undefined && one !== '');
}

function columnName(column: number): string {
  let [text, rest] = ['', column];
  while (rest > 0) {
    text = String.fromCharCode(65 + ((rest - 1) % 26)) + text;
    rest = Math.floor((rest - 1) / 26);
  }
  return text;
}
