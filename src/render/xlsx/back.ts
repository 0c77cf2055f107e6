import { isolate } from '../../base/bidi.ts';
import { inWords } from '../../define/period.ts';
import { type CallRecord, type Column, type Dataset, incompleteNotes, lacksCounts } from '../../fetch/dataset.ts';
import type { Words } from '../../words/words.ts';
import { filterTexts } from '../words.ts';
import { completeText, footerOf, type Pack } from './front.ts';
import { heightOf } from './measure.ts';
import { STYLES } from './style.ts';
import type { Book, Cell, Sheet } from './writer.ts';

const head = (sheet: Sheet, labels: readonly string[]): Promise<void> =>
  sheet.row(
    labels.map((value) => ({ value, style: STYLES.headerLabel })),
    22,
  );

const text = (value: string | undefined, style: Cell['style'] = STYLES.cellText): Cell => ({
  value: value ?? '',
  style,
});

interface Defined {
  readonly column: Column;
  readonly sections: string[];
}

/** Every column once, in the order of its first appearance, with the sections that show it. */
function definedColumns(dataset: Dataset, kinds: readonly Column['kind'][]): Defined[] {
  const found = new Map<string, Defined>();
  for (const table of dataset.tables) {
    for (const column of table.columns) {
      if (!kinds.includes(column.kind)) continue;
      const known = found.get(column.name);
      if (known === undefined) found.set(column.name, { column, sections: [table.title] });
      else known.sections.push(table.title);
    }
  }
  return [...found.values()];
}

type DefinitionWords = Words['workbook']['definitions'];

const unitText = (unit: string | null, { count, ratio, seconds, otherUnit }: DefinitionWords): string => {
  const known: Readonly<Record<string, string>> = { count, ratio, seconds };
  return unit === null ? '' : (known[unit] ?? otherUnit(unit));
};

function remarks({ counts, availableFrom, replacedBy }: Column, words: DefinitionWords): string {
  const lines = [
    counts === 'now' ? words.countsNow : undefined,
    counts === undefined || counts === 'now' ? undefined : words.countsAt(counts),
    availableFrom === undefined ? undefined : words.availableFrom(availableFrom),
    replacedBy === undefined ? undefined : replacedBy === null ? words.deprecated : words.replacedBy(replacedBy),
  ];
  return lines.filter((line) => line !== undefined).join('\n');
}

/** What each figure means: metrics with their units, groups with their values, and what each section leaves out. */
export async function writeDefinitions(book: Book, pack: Pack): Promise<void> {
  const { dataset, names, locale, words } = pack;
  const { sheets, back, definitions: own } = words.workbook;
  const widths = [30, 52, 22, 14, 34, 26];
  const sheet = book.sheet(names.definitions, { widths, landscape: true, footer: footerOf(pack), sharedStrings: true });
  await sheet.row([{ value: sheets.definitions, style: STYLES.title }], 26);
  await sheet.row([{ value: back, style: STYLES.back, link: names.contents }], 18);
  await sheet.row([{ value: own.metrics, style: STYLES.heading, span: 6 }], 24);
  await head(sheet, [own.metric, own.description, own.unit, own.aggregation, own.toKnow, own.sections]);
  for (const { column, sections } of definedColumns(dataset, ['metric'])) {
    const name = `${column.label}\n${column.name}`;
    const where = sections.map(isolate).join(', ');
    const unit = unitText(column.unit, own);
    const remark = remarks(column, own);
    await sheet.row(
      [
        text(name),
        text(column.description),
        text(unit),
        text(column.aggregation),
        text(remark),
        text(where, STYLES.cellQuiet),
      ],
      heightOf([name, 30], [column.description, 52], [unit, 22], [remark, 34], [where, 26]),
    );
  }
  const groups = definedColumns(dataset, ['dimension', 'field']);
  if (groups.length > 0) {
    await sheet.row([], 14);
    await sheet.row([{ value: own.groups, style: STYLES.heading, span: 6 }], 24);
    await head(sheet, [own.name, own.description, own.type, '', own.values, own.sections]);
    for (const { column, sections } of groups) {
      const name = column.label === column.name ? column.label : `${column.label}\n${column.name}`;
      const values = (column.values ?? []).map(({ label }) => isolate(label)).join(', ');
      const where = sections.map(isolate).join(', ');
      await sheet.row(
        [
          text(name),
          text(column.description),
          text(column.type),
          text(''),
          text(values),
          text(where, STYLES.cellQuiet),
        ],
        heightOf([name, 30], [column.description, 52], [values, 34], [where, 26]),
      );
    }
  }
  const filtered = dataset.tables.filter((table) => table.filters.length > 0);
  if (filtered.length > 0) {
    await sheet.row([], 14);
    await sheet.row([{ value: own.filters, style: STYLES.heading, span: 6 }], 24);
    for (const table of filtered) {
      const filters = words.table.onlyWhere(filterTexts(table, locale));
      await sheet.row([text(table.title), { ...text(filters), span: 5 }], heightOf([table.title, 30], [filters, 140]));
    }
  }
  await sheet.close();
}

/** Where an answer comes from that this try of the run did not ask for. */
function whence({ shared, saved }: CallRecord, words: Words['workbook']['run']): string {
  if (shared !== undefined) return words.shared(shared.run, shared.at);
  return saved ? words.saved : '';
}

/** How the pack was made, for whoever has to prove it: run, definition, calls, and what is incomplete and why. */
export async function writeRunSheet(book: Book, pack: Pack): Promise<void> {
  const { dataset, names, locale, words } = pack;
  const { sheets, back, run: own } = words.workbook;
  const widths = [20, 52, 24, 26, 12, 40];
  const sheet = book.sheet(names.run, { widths, landscape: true, footer: footerOf(pack), sharedStrings: true });
  await sheet.row([{ value: sheets.run, style: STYLES.title }], 26);
  await sheet.row([{ value: back, style: STYLES.back, link: names.contents }], 18);
  const facts = [
    [own.report, `${dataset.org}/${dataset.report}`],
    [own.run, pack.run],
    [own.definition, `SHA-256 ${pack.digest}`],
    [own.period, inWords(dataset.period, locale)],
    [own.made, `${new Date(pack.madeAt).toISOString()} (UTC)`],
    [own.registry, own.version(dataset.registryVersion)],
    [own.calls, own.callCount(dataset.calls.length)],
  ] as const;
  for (const [label, value] of facts) {
    await sheet.row(
      [
        { value: label, style: STYLES.cellQuiet },
        { value, style: STYLES.cellText, span: 5 },
      ],
      18,
    );
  }
  await sheet.row([], 14);
  await sheet.row([{ value: own.calls, style: STYLES.heading, span: 6 }], 24);
  await head(sheet, [own.call, own.request, own.sections, own.asOf, own.cached, own.correlation]);
  for (const call of dataset.calls) {
    const sections = call.sections.join(', ');
    const request = `${call.method} ${call.path}\n${own.rows(call.rows)}${whence(call, own)}`;
    await sheet.row(
      [
        text(call.id, STYLES.cellCode),
        text(request),
        text(sections),
        text(call.asOf ?? '–'),
        text(call.cached === null ? '–' : call.cached ? words.table.yes : words.table.no),
        text(call.correlationId ?? '–', STYLES.cellCode),
      ],
      heightOf([request, 52], [sections, 24], [call.id, 20]),
    );
  }
  await sheet.row([], 14);
  await sheet.row([{ value: own.incomplete, style: STYLES.heading, span: 6 }], 24);
  const incomplete = incompleteNotes(dataset, words);
  if (incomplete.length === 0) {
    const nothing = dataset.tables.some(lacksCounts) ? completeText(dataset, words) : own.nothing;
    await sheet.row([{ value: nothing, style: STYLES.plain, span: 6 }], 18);
  }
  for (const note of incomplete) {
    await sheet.row(
      [
        text(note.section),
        { ...text(note.text), span: 4 },
        undefined,
        undefined,
        undefined,
        text(note.code, STYLES.cellCode),
      ],
      heightOf([note.section, 20], [note.text, 110]),
    );
  }
  await sheet.close();
}

/** The texts that no cell can hold, whole, in pieces one below the other. */
export async function writeLongTexts(book: Book, { names, ...pack }: Pack): Promise<void> {
  const { sheets, back, longTexts: own } = pack.words.workbook;
  const widths = [8, 30, 10, 10, 90];
  const footer = footerOf({ names, ...pack });
  const sheet = book.sheet(names.longTexts, { widths, landscape: true, footer, sharedStrings: false });
  await sheet.row([{ value: sheets.longTexts, style: STYLES.title }], 26);
  await sheet.row([{ value: back, style: STYLES.back, link: names.contents }], 18);
  await sheet.row([{ value: own.what, style: STYLES.plain }], 18);
  await head(sheet, [own.number, own.sheet, own.cell, own.part, own.text]);
  for (const [index, { sheet: from, cell, pieces }] of book.longTexts.entries()) {
    for (const [part, piece] of pieces.entries()) {
      await sheet.row([
        { value: index + 1, style: STYLES.cellCount },
        { ...text(from, STYLES.cellLink), link: from },
        text(cell),
        text(own.partOf(part + 1, pieces.length)),
        text(piece),
      ]);
    }
  }
  await sheet.close();
}
