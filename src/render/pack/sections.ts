import { isolateBidi } from '../../base/text/bidi.ts';
import type { Granularity } from '../../contract/report.ts';
import { normalizeChart } from '../../definitions/schema/chart.ts';
import type { Better } from '../../definitions/schema/targets.ts';
import type { Dataset, Table } from '../../fetch/dataset.ts';
import { lacksCurrentCounts } from '../../fetch/notes.ts';
import { firstRows } from '../../fetch/rows.ts';
import type { Words } from '../../i18n/messages.ts';
import { buildChart } from '../charts/chart.ts';
import { isBetterMeant } from '../figures/better.ts';
import { isTransposed, totalsDiffer, type ViewColumn } from '../figures/columns.ts';
import { formatTarget } from '../figures/format-value.ts';
import { findTotals } from '../figures/total-figures.ts';
import { incompleteNoteText, legendNotes, tableFacts, tableNotes } from '../table-notes.ts';
import { columnBlocks, isTransposedOnPages } from './blocks.ts';
import { sectionCells } from './cells.ts';
import { exceptionRows, exceptionsText } from './exceptions.ts';
import type { PackSection } from './pack.ts';
import type { PackContext } from './pack-context.ts';
import { commentsOn } from './review/comments.ts';
import type { PackComment } from './review/review.ts';
import { sectionScorecard } from './scorecard.ts';
import { trendPanels } from './trends/trend-panels.ts';

/** Splits a text at empty lines. Line breaks inside a paragraph become spaces. */
const splitParagraphs = (text: string): string[] =>
  text
    .split(/\n\s*\n/)
    .map((part) => part.replace(/\s+/g, ' ').trim())
    .filter((part) => part !== '');

function emptyText({ rows, columns, notes }: Table, { words }: PackContext): string | undefined {
  if (rows.length > 0) return undefined;
  if (columns.length > 0 && lacksCurrentCounts({ notes })) return words.table.noCounts;
  return words.workbook.section.noRows;
}

/** Explains the colours of changes, if there are any. */
function toneLegend(table: Table, columns: readonly ViewColumn[], { words, dataset }: PackContext): string[] {
  const changed = columns.filter(({ role, source }) => role === 'change' && source.provisional !== true);
  const labelsWhere = (better: Better): string[] => [
    ...new Set(
      changed.flatMap(({ source }) =>
        isBetterMeant(dataset, table, source.name, better) ? [isolateBidi(source.label)] : [],
      ),
    ),
  ];
  const [higher, lower] = [labelsWhere('higher'), labelsWhere('lower')];
  return higher.length + lower.length === 0 ? [] : [words.status.betterMeans(higher, lower)];
}

type Head = Omit<PackSection, 'kind'>;

/** Texts about sections: the most important sentence of each, by id, and people's comments. */
interface Remarks {
  readonly takeaways: ReadonlyMap<string, string>;
  readonly comments: readonly PackComment[];
}

/**
 * The fields that sections of every kind have. `own` notes come before those of the table; `targets` replaces its notes
 * on targets.
 */
function sectionHead(
  table: Table,
  context: PackContext,
  { takeaways, comments }: Remarks,
  shows: { readonly totals: boolean; readonly own?: readonly string[]; readonly targets?: readonly string[] },
): Head {
  const { dataset, locale, words } = context;
  const columns = context.columnsOf(table);
  const notes = tableNotes(table, locale);
  const chart = buildChart(table, locale, undefined, columns);
  const takeaway = takeaways.get(table.id);
  const empty = emptyText(table, context);
  return {
    table,
    columns,
    cells: sectionCells(context, table),
    title: table.title,
    ...(table.description === undefined ? {} : { description: table.description }),
    ...(takeaway === undefined ? {} : { takeaway }),
    comments: commentsOn(comments, table.id),
    facts: tableFacts(dataset, table, locale),
    warnings: notes.filter(({ incomplete }) => incomplete).map((note) => incompleteNoteText(note, words)),
    notes: [
      ...(shows.own ?? []),
      ...notes.filter(({ incomplete }) => !incomplete).map(({ text }) => text),
      ...(shows.targets ?? targetNotes(dataset, table, columns, words, locale)),
    ],
    legend: [
      ...(chart?.partial === undefined ? [] : [context.words.pack.hatchedMeans]),
      ...(table.columns.length === 0 ? [] : legendNotes(table, locale, shows.totals, columns)),
      ...(table.rows.length === 0 ? [] : toneLegend(table, columns, context)),
    ],
    ...(empty === undefined ? {} : { empty }),
    printed: table.print !== false,
    ...(chart === undefined || table.chart === undefined
      ? {}
      : { chart: { chart, place: normalizeChart(table.chart).place ?? 'above' } }),
  };
}

function textSection(table: Table, context: PackContext, { comments }: Remarks): PackSection {
  const { dataset, words } = context;
  // A text section that the first page shows does not repeat the headlines.
  const paragraphs = table.description === undefined ? (dataset.headlines ?? []) : splitParagraphs(table.description);
  const { description: _, ...head } = sectionHead(
    table,
    context,
    { takeaways: new Map(), comments },
    { totals: false },
  );
  const { empty: __, ...rest } = head;
  return {
    ...rest,
    facts: [],
    ...(paragraphs.length === 0 ? { empty: words.pack.noText } : {}),
    kind: 'text',
    paragraphs,
  };
}

function trendSection(table: Table, granularity: Granularity, context: PackContext, remarks: Remarks): PackSection {
  const { status, pack } = context.words;
  const { hatchedMeans, targetLineMeans, bandMeans, gapsMean } = pack;
  // An empty chart says less than its sentence.
  const all = trendPanels(table, granularity, context);
  const panels = all.filter((panel) => panel.points.some(({ value }) => value !== null));
  const without = all.flatMap((panel) =>
    panels.includes(panel) ? [] : [`${pack.trendNone(isolateBidi(panel.label))}.`],
  );
  const points = panels.flatMap((panel) => panel.points);
  const goals = panels.flatMap(({ label, target }) =>
    target === undefined ? [] : [status.headline(isolateBidi(label), [target.text], undefined)],
  );
  const targets = goals.length === 0 ? [] : [status.targets(goals)];
  const head = sectionHead(table, context, remarks, { totals: false, own: without, targets });
  return {
    ...head,
    // Small charts have neither rows in italics nor dashes.
    legend: [
      ...(points.some(({ partial }) => partial) ? [hatchedMeans] : []),
      ...(points.some(({ value }) => value === null) ? [gapsMean] : []),
      ...(panels.some(({ target }) => target !== undefined) ? [targetLineMeans] : []),
      ...(panels.some(({ band }) => band !== undefined) ? [bandMeans] : []),
    ],
    kind: 'trend',
    granularity,
    panels,
  };
}

function tableSection(table: Table, context: PackContext, remarks: Remarks): PackSection {
  const columns = context.columnsOf(table);
  const transposed = isTransposed(table, columns);
  const [row] = transposed ? firstRows(table.rows, 1) : [];
  const differ = transposed && totalsDiffer(columns, row);
  const head = sectionHead(table, context, remarks, {
    totals: transposed ? differ : table.totals !== undefined,
  });
  return {
    ...head,
    kind: 'table',
    blocks: columnBlocks(table, context),
    transposed,
    transposedOnPages: !transposed && isTransposedOnPages(table, columns),
    ...(transposed && !differ && findTotals(table) !== undefined && table.granularity === null
      ? { scorecard: sectionScorecard(table, context) }
      : {}),
  };
}

export function packSection(table: Table, context: PackContext, remarks: Remarks): PackSection {
  const { layout, granularity } = table;
  switch (layout?.kind) {
    case 'text':
      return textSection(table, context, remarks);
    case 'scorecard':
      return {
        ...sectionHead(table, context, remarks, { totals: false }),
        kind: 'scorecard',
        scorecard: sectionScorecard(table, context),
      };
    case 'exceptions': {
      const { rows, counts } = exceptionRows(table, layout, context);
      const text = exceptionsText(counts, rows.length, context.words);
      const head = sectionHead(table, context, remarks, { totals: false, own: rows.length === 0 ? [] : [text] });
      // Totals and chart cover all rows, so a table of exceptions has none.
      const { totals: _, chart: __, ...plain } = table;
      const { chart: ___, ...rest } = head;
      return {
        ...rest,
        table: { ...plain, rows: rows.map(({ row }) => row) },
        cells: { ...head.cells, ofTotals: () => undefined },
        ...(rows.length > 0 || counts.of === 0 ? {} : { empty: text }),
        kind: 'exceptions',
        blocks: columnBlocks(table, context),
        rows,
        counts,
      };
    }
    case 'trend':
      // The schema requires a granularity. A section without one, from an older record, is shown as a table.
      return granularity === null
        ? tableSection(table, context, remarks)
        : trendSection(table, granularity, context, remarks);
    default:
      return tableSection(table, context, remarks);
  }
}

/**
 * Notes with the targets of a table's statuses, which have no column of their own. A transposed table has one, so only
 * targets are noted whose column does not name their period.
 */
function targetNotes(
  { targets = [], judgements = [] }: Pick<Dataset, 'targets' | 'judgements'>,
  table: Table,
  columns: readonly ViewColumn[],
  words: Words,
  locale: string,
): string[] {
  const hasColumn = isTransposed(table, columns);
  const own = judgements.filter(({ section }) => section === table.id);
  const texts = own.flatMap(({ metric, group, target }) => {
    const view = columns.find(({ role, source }) => role === 'value' && source.name === metric);
    const { target: value, per } = targets[target] ?? {};
    if (view === undefined || value == null || (hasColumn && per === undefined)) return [];
    const groups = table.columns.find(({ name }) => name === group?.dimension)?.values ?? [];
    const label = groups.find((each) => each.value === group?.value)?.label ?? group?.value;
    const about = label === undefined ? [] : [isolateBidi(label)];
    const name = isolateBidi(view.source.label);
    const named = about.length === 0 ? name : words.mail.named(name, about);
    const figures = own.flatMap((each) => (each.target === target ? [each.figure] : []));
    const text = formatTarget(value, view.quantity, locale, figures);
    return [words.status.headline(named, [per === undefined ? text : words.status.targetPer(text, per)], undefined)];
  });
  return texts.length === 0 ? [] : [words.status.targets([...new Set(texts)])];
}
