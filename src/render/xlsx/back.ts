import { isolate } from '../../base/bidi.ts';
import { inWords } from '../../define/period.ts';
import { type CallRecord, type Column, type Dataset, incompleteNotes } from '../../fetch/dataset.ts';
import { counted } from '../words.ts';
import { footerOf, type Pack } from './front.ts';
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

const unitText = (unit: string | null): string => {
  const known: Readonly<Record<string, string>> = {
    count: 'count',
    ratio: 'ratio from 0 to 1, shown as %',
    seconds: 'seconds, shown as a duration',
  };
  return unit === null ? '' : (known[unit] ?? `${unit} (as the service names it)`);
};

function remarks(column: Column): string {
  const lines = [
    column.counts === 'now' ? 'A current count: the state at the time of the call.' : undefined,
    column.counts === undefined || column.counts === 'now' ? undefined : `Counts at: ${column.counts}.`,
    column.availableFrom === undefined
      ? undefined
      : `Available from ${column.availableFrom}; earlier figures read zero.`,
    column.replacedBy === undefined
      ? undefined
      : column.replacedBy === null
        ? 'Deprecated.'
        : `Deprecated: replaced by ${column.replacedBy}.`,
  ];
  return lines.filter((line) => line !== undefined).join('\n');
}

/** What each figure means: metrics with their units, groups with their values, and what each section leaves out. */
export async function writeDefinitions(book: Book, pack: Pack): Promise<void> {
  const { dataset, names } = pack;
  const widths = [30, 52, 22, 14, 34, 26];
  const sheet = book.sheet(names.definitions, { widths, landscape: true, footer: footerOf(pack), sharedStrings: true });
  await sheet.row([{ value: 'Definitions', style: STYLES.title }], 26);
  await sheet.row([{ value: '← Contents', style: STYLES.back, link: names.contents }], 18);
  await sheet.row([{ value: 'Metrics', style: STYLES.heading, span: 6 }], 24);
  await head(sheet, ['Metric', 'Description', 'Unit', 'Aggregation', 'To know', 'Sections']);
  for (const { column, sections } of definedColumns(dataset, ['metric'])) {
    const name = `${column.label}\n${column.name}`;
    const where = sections.map(isolate).join(', ');
    await sheet.row(
      [
        text(name),
        text(column.description),
        text(unitText(column.unit)),
        text(column.aggregation),
        text(remarks(column)),
        text(where, STYLES.cellQuiet),
      ],
      heightOf([name, 30], [column.description, 52], [unitText(column.unit), 22], [remarks(column), 34], [where, 26]),
    );
  }
  const groups = definedColumns(dataset, ['dimension', 'field']);
  if (groups.length > 0) {
    await sheet.row([], 14);
    await sheet.row([{ value: 'Groups and fields', style: STYLES.heading, span: 6 }], 24);
    await head(sheet, ['Name', 'Description', 'Type', '', 'Values', 'Sections']);
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
    await sheet.row([{ value: 'Filters', style: STYLES.heading, span: 6 }], 24);
    for (const table of filtered) {
      const words = table.filters.join(' and ');
      await sheet.row(
        [text(table.title), { ...text(`Only where ${words}.`), span: 5 }],
        heightOf([table.title, 30], [words, 140]),
      );
    }
  }
  await sheet.close();
}

/** Where an answer comes from that this try of the run did not ask for. */
function whence({ shared, saved }: CallRecord): string {
  if (shared !== undefined) return `, asked by run ${shared.run}, answered ${shared.at}`;
  return saved ? ', kept from an earlier try of this run' : '';
}

/** How the pack was made, for whoever has to prove it: run, definition, calls, and what is incomplete and why. */
export async function writeRunSheet(book: Book, pack: Pack): Promise<void> {
  const { dataset, names, locale } = pack;
  const widths = [20, 52, 24, 26, 12, 40];
  const sheet = book.sheet(names.run, { widths, landscape: true, footer: footerOf(pack), sharedStrings: true });
  await sheet.row([{ value: 'Run', style: STYLES.title }], 26);
  await sheet.row([{ value: '← Contents', style: STYLES.back, link: names.contents }], 18);
  const facts = [
    ['Report', `${dataset.org}/${dataset.report}`],
    ['Run', pack.run],
    ['Definition', `SHA-256 ${pack.digest}`],
    ['Period', inWords(dataset.period, locale)],
    ['Made', `${new Date(pack.madeAt).toISOString()} (UTC)`],
    ['Metric registry', `version ${dataset.registryVersion}`],
    ['Calls', counted(dataset.calls.length, 'call', 'calls', locale)],
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
  await sheet.row([{ value: 'Calls', style: STYLES.heading, span: 6 }], 24);
  await head(sheet, ['Call', 'Request', 'Sections', 'As of', 'Cached', 'Correlation id']);
  for (const call of dataset.calls) {
    const sections = call.sections.join(', ');
    const request = `${call.method} ${call.path}\n${counted(call.rows, 'row', 'rows', locale)}${whence(call)}`;
    await sheet.row(
      [
        text(call.id, STYLES.cellCode),
        text(request),
        text(sections),
        text(call.asOf ?? '–'),
        text(call.cached === null ? '–' : call.cached ? 'yes' : 'no'),
        text(call.correlationId ?? '–', STYLES.cellCode),
      ],
      heightOf([request, 52], [sections, 24], [call.id, 20]),
    );
  }
  await sheet.row([], 14);
  await sheet.row([{ value: 'Incomplete', style: STYLES.heading, span: 6 }], 24);
  const incomplete = incompleteNotes(dataset);
  if (incomplete.length === 0)
    await sheet.row(
      [{ value: 'Nothing: the service answered every section in full.', style: STYLES.plain, span: 6 }],
      18,
    );
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
  const widths = [8, 30, 10, 10, 90];
  const footer = footerOf({ names, ...pack });
  const sheet = book.sheet(names.longTexts, { widths, landscape: true, footer, sharedStrings: false });
  await sheet.row([{ value: 'Long texts', style: STYLES.title }], 26);
  await sheet.row([{ value: '← Contents', style: STYLES.back, link: names.contents }], 18);
  const what = 'Texts that are longer than a cell can be. Put the parts of a number together and you have the whole.';
  await sheet.row([{ value: what, style: STYLES.plain }], 18);
  await head(sheet, ['No.', 'Sheet', 'Cell', 'Part', 'Text']);
  for (const [index, { sheet: from, cell, pieces }] of book.longTexts.entries()) {
    for (const [part, piece] of pieces.entries()) {
      await sheet.row([
        { value: index + 1, style: STYLES.cellCount },
        { ...text(from, STYLES.cellLink), link: from },
        text(cell),
        text(`${part + 1} of ${pieces.length}`),
        text(piece),
      ]);
    }
  }
  await sheet.close();
}
