import { isolateBidi } from '../../../../base/text/bidi.ts';
import { formatZonedInstant } from '../../../figures/format-date.ts';
import type { PackDefinition } from '../../../pack/pack.ts';
import { describeFilters } from '../../../table-notes.ts';
import type { SheetWriter } from '../package/sheet-writer.ts';
import type { WorkbookFile } from '../package/workbook-writer.ts';
import { rowBreaks } from '../sections/row-breaks.ts';
import { linesPoints, quietLines, writeLines } from '../sections/sheet-lines.ts';
import { MIN_SCALE, pageAt, scaleForHeight } from '../style/page-layout.ts';
import { STYLES } from '../style/styles.ts';
import { textRowPoints, totalWidth } from '../style/text-size.ts';
import {
  buildFooter,
  FIRST_PRINTED_ROW,
  TITLE_POINTS,
  textCell,
  type WorkbookContext,
  writeHeader,
  writeSheetHeading,
} from '../workbook-context.ts';

/**
 * The printed columns: name, description, unit, notes. Columns outside the print: the service's name, aggregation,
 * sections.
 */
const PRINTED_COLUMNS = 4;
const NAME_WIDTH = 34;
const UNIT_WIDTH = 26;
const KNOW_WIDTH = 40;
const OTHER_WIDTHS = [34, 14, 40];
const MIN_DESCRIPTION_WIDTH = 40;

interface Definition {
  readonly name: string;
  readonly description: string;
  readonly unit: string;
  readonly notes: string;
  readonly others: readonly string[];
}

/** Notes that all metrics share: one line below replaces a note beside each metric. */
function commonNotes(metrics: readonly PackDefinition[]): string[] {
  const [first, ...others] = metrics;
  if (first === undefined || others.length === 0) return [];
  return first.notes.filter((note) => others.every(({ notes }) => notes.includes(note)));
}

const buildDefinition = (
  { column, unit, notes, sections }: PackDefinition,
  common: readonly string[] = [],
): Definition => ({
  name: column.label,
  description: column.description ?? '',
  unit,
  notes: notes.filter((note) => !common.includes(note)).join(' '),
  others: [column.name, column.aggregation ?? '', sections.map(isolateBidi).join(', ')],
});

const definitionPoints = ({ name, description, unit, notes }: Definition, widths: readonly number[]): number =>
  textRowPoints([name, widths[0] ?? 1], [description, widths[1] ?? 1], [unit, widths[2] ?? 1], [notes, widths[3] ?? 1]);

async function writeDefinition(sheet: SheetWriter, definition: Definition, widths: readonly number[]): Promise<void> {
  const { name, description, unit, notes, others } = definition;
  await sheet.addRow(
    [
      textCell(name),
      textCell(description),
      textCell(unit),
      textCell(notes, STYLES.cellQuiet),
      ...others.map((text) => textCell(text, STYLES.cellQuiet)),
    ],
    definitionPoints(definition, widths),
  );
}

/** The height of the header, and of the heading "how the pack was made" with the space above it. */
const HEADER_POINTS = 20;
const MADE_HEADING_POINTS = 36;

/** How the pack was made, in a few lines: what is added up, when it was made, whom to ask. */
function madeLines({ pack, dataset, run, madeAt, words, locale }: WorkbookContext): string[] {
  const { contents, run: texts, summary } = words.workbook;
  const summed = dataset.tables
    .filter(({ id }) => Object.hasOwn(dataset.sums ?? {}, id))
    .map(({ title }) => isolateBidi(title));
  const facts = [
    [texts.made, formatZonedInstant(new Date(madeAt), dataset.period.timezone, locale)],
    [summary.owner, pack.owner],
    [texts.report, `${dataset.org}/${dataset.report}`],
    [texts.run, run],
    [texts.registry, texts.version(dataset.registryVersion)],
    [texts.calls, texts.callCount(dataset.calls.length)],
  ] as const;
  return [
    contents.untouched(
      summed,
      dataset.tables.some(({ comparisons }) => comparisons.length > 0),
    ),
    facts.map(([label, value]) => `${label}: ${value}`).join(' · '),
  ];
}

/**
 * Writes the sheet of definitions: on one page the metrics and how the pack was made. Below, outside the print, are
 * dimensions and fields with their values, and the filters of each section.
 */
export async function writeDefinitionsSheet(book: WorkbookFile, context: WorkbookContext): Promise<void> {
  const { dataset, pack, names, locale, words, page } = context;
  const { sheets, definitions: texts } = words.workbook;
  const isMetric = ({ column }: PackDefinition) => column.kind === 'metric';
  const shown = pack.definitions.filter((each) => isMetric(each) && each.printed);
  const common = commonNotes(shown);
  const metrics = shown.map((each) => buildDefinition(each, common));
  const unprinted = pack.definitions
    .filter((each) => isMetric(each) && !each.printed)
    .map((each) => buildDefinition(each));
  const groups = pack.definitions.filter((each) => !isMetric(each));
  // The widths are as small as paper allows, so that all metrics are on one page if they fit.
  const fixed = NAME_WIDTH + UNIT_WIDTH + KNOW_WIDTH;
  const description = Math.max(MIN_DESCRIPTION_WIDTH, pageAt(page, MIN_SCALE).characters - fixed);
  const printed = [NAME_WIDTH, description, UNIT_WIDTH, KNOW_WIDTH];
  const widths = [...printed, ...OTHER_WIDTHS];
  const width = { columns: PRINTED_COLUMNS, characters: totalWidth(printed) };
  const made = quietLines(madeLines(context));
  const ofAll = quietLines(common.map((note) => texts.ofAll(note)));
  const heights = metrics.map((each) => definitionPoints(each, printed));
  const below = MADE_HEADING_POINTS + linesPoints([...ofAll, ...made], width);
  const points = TITLE_POINTS + HEADER_POINTS + heights.reduce((sum, each) => sum + each, 0) + below;
  const scale = scaleForHeight(points, page, MIN_SCALE);
  const breaks = rowBreaks({
    heights,
    page: pageAt(page, scale).points,
    header: HEADER_POINTS,
    head: TITLE_POINTS,
    headUse: TITLE_POINTS,
    totals: 0,
    notes: below,
    across: 1,
  });
  const headerRow = FIRST_PRINTED_ROW + 1;
  const sheet = book.addSheet(names.definitions, {
    widths,
    paper: page.paper,
    scale,
    printed: true,
    printTitles: { rows: { from: headerRow, to: headerRow } },
    footer: buildFooter(context),
    sharedStrings: true,
  });
  await writeSheetHeading(sheet, sheets.definitions, context);
  await writeHeader(sheet, [
    texts.metric,
    texts.description,
    texts.unit,
    texts.toKnow,
    texts.id,
    texts.aggregation,
    texts.sections,
  ]);
  for (const [index, each] of metrics.entries()) {
    if (breaks.after.includes(index)) sheet.addPageBreak();
    await writeDefinition(sheet, each, printed);
  }
  await writeLines(sheet, ofAll, width);
  await sheet.addRow([], 12);
  await sheet.addRow([{ value: words.pack.howMade, style: STYLES.heading, span: PRINTED_COLUMNS }], 20);
  await writeLines(sheet, made, width);
  const columns = { from: 0, to: PRINTED_COLUMNS - 1 };
  sheet.addPrintArea({ rows: { from: FIRST_PRINTED_ROW, to: sheet.rowCount }, columns });
  if (unprinted.length > 0) {
    await sheet.addRow([], 14);
    for (const each of unprinted) await writeDefinition(sheet, each, printed);
  }
  if (groups.length > 0) {
    await sheet.addRow([], 14);
    await sheet.addRow([{ value: texts.groups, style: STYLES.heading, span: PRINTED_COLUMNS }], 20);
    await writeHeader(sheet, [texts.name, texts.description, texts.type, texts.values, texts.id, '', texts.sections]);
    for (const group of groups) {
      const { name, description: text, others } = buildDefinition(group);
      const values = (group.column.values ?? []).map(({ label }) => isolateBidi(label)).join(', ');
      const row = { name, description: text, unit: group.column.type, notes: values, others };
      await writeDefinition(sheet, row, printed);
    }
  }
  const filtered = dataset.tables.filter((table) => table.filters.length > 0);
  if (filtered.length > 0) {
    await sheet.addRow([], 14);
    await sheet.addRow([{ value: texts.filters, style: STYLES.heading, span: PRINTED_COLUMNS }], 20);
    for (const table of filtered) {
      const filters = words.table.onlyWhere(describeFilters(table, locale));
      await sheet.addRow(
        [textCell(table.title), { ...textCell(filters), span: PRINTED_COLUMNS - 1 }],
        textRowPoints([table.title, NAME_WIDTH], [filters, width.characters - NAME_WIDTH]),
      );
    }
  }
  await sheet.close();
}
