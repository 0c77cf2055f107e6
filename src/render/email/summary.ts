import { isolateBidi } from '../../base/text/bidi.ts';
import type { FiscalCalendar } from '../../definitions/periods/fiscal-calendar.ts';
import type { Dataset, Table } from '../../fetch/dataset.ts';
import { formatNote, type Note } from '../../fetch/notes.ts';
import { messagesFor, type Words } from '../../i18n/messages.ts';
import type { MailBodyName } from '../artifact.ts';
import { buildChart, type Chart } from '../charts/chart.ts';
import { createPaintable } from '../charts/chart-rasterizer.ts';
import { isSingleRow } from '../figures/columns.ts';
import { countStatuses } from '../figures/current-statuses.ts';
import { byPlace, ownFilters, sharedFilters } from '../figures/figure-identity.ts';
import { headlineFigures } from '../figures/headline-figures.ts';
import { byImportance, isNews } from '../figures/headlines.ts';
import { type NameCode, withNameCodes } from '../figures/name-codes.ts';
import { statusText, totalJudgement } from '../figures/status-text.ts';
import { buildPack } from '../pack/build-pack.ts';
import type { Attention, Pack, PackSection } from '../pack/pack.ts';
import type { PackComment } from '../pack/review/review.ts';
import { coverageFacts, filterFacts, legendNotes, sumFacts, tableNotes } from '../table-notes.ts';
import { sectionTable } from './section-tables.ts';
import type { SectionTable } from './summary-cells.ts';
import { buildTiles, type Tile } from './tiles.ts';

/** The most headline figures shown as tiles. The others are in the sections and in the files. */
const MAX_TILES = 5;
/** The most images of an e-mail, for the first sections with a chart. Each adds about 20 kB to every message. */
const MAX_CHARTS = 3;
/** The most groups along the axis of an image: as many as a phone can show. */
const MAX_CHART_GROUPS = 15;

export interface SummarySection {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  /** Its most important sentence, unless the e-mail shows it above. */
  readonly takeaway?: string;
  /** Absent for a text section. */
  readonly table?: SectionTable;
  /** The paragraphs of a text section. */
  readonly paragraphs: readonly string[];
  readonly comments: readonly PackComment[];
  /** From `coverageFacts`. */
  readonly covers: readonly string[];
  /** From `filterFacts`. */
  readonly filters: readonly string[];
  /** From `sumFacts`. */
  readonly sums: readonly string[];
  /** Whether one of its rows, shown or not, is still running. */
  readonly running: boolean;
  readonly notes: readonly string[];
  /** Notes on the changes in its rows. */
  readonly rowNotes: readonly string[];
  /** Why it has no rows, if the service may have some. */
  readonly empty?: string;
  /** Explains the marks of its figures, in sentences. */
  readonly legend: readonly string[];
  /** Only the first sections with a chart have one. */
  readonly chart?: Chart;
  /** The chart with codes in place of names that the pictures' font cannot show. Absent if it can show all. */
  readonly drawn?: Chart;
  /** The names that these codes stand for. */
  readonly codes?: readonly NameCode[];
  /** The statuses of the totals of the shown metrics, e.g. `Alerts open: ■ breached`. */
  readonly chartStatuses?: readonly string[];
}

/** A section that only the files contain. */
export interface HiddenSection {
  readonly title: string;
  /** The number of its rows; null if it is not a list. */
  readonly rows: number | null;
}

export interface SummaryOptions {
  readonly dataset: Dataset;
  readonly locale: string;
  /** Absent: `full`. */
  readonly body?: MailBodyName | undefined;
  readonly classification?: string | undefined;
  readonly calendar?: FiscalCalendar | undefined;
}

/** The content of an e-mail as texts: what is breached, the headline figures, and a short table per section. */
export interface EmailSummary extends Pick<Pack, 'approval' | 'correction' | 'comments'> {
  readonly completeness: Pack['completeness'];
  /** Figures that are breached or on watch, the worst first. */
  readonly attention: readonly Attention[];
  /** Whether any figure has a target. */
  readonly judged: boolean;
  /** The number of figures with few cases, by status. */
  readonly few: ReturnType<typeof countStatuses>;
  readonly tiles: readonly Tile[];
  /** Headline figures beyond the most tiles. */
  readonly moreTiles: readonly Tile[];
  /** The coverage that most sections share, and the filters that all share. Sections do not repeat them. */
  readonly basis?: string;
  readonly sections: readonly SummarySection[];
  readonly hidden: readonly HiddenSection[];
  /** All sections with comments, including those that only the files contain. */
  readonly commented: readonly Pick<SummarySection, 'id' | 'title' | 'comments'>[];
}

/**
 * The coverage that most sections share; undefined if they share none. Filters and current counts never count as
 * shared: above all sections they would seem to apply to every one.
 */
function sharedCoverage(sections: readonly SummarySection[], tables: Dataset['tables']): string | undefined {
  const current = new Set(tables.filter((table) => table.current).map(({ id }) => id));
  const counts = new Map<string, number>();
  for (const cover of sections.flatMap(({ id, covers }) => (current.has(id) ? [] : covers))) {
    counts.set(cover, (counts.get(cover) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, one], [, other]) => other - one);
  return most !== undefined && most[1] > 1 ? most[0] : undefined;
}

/** The filters that all sections share. Tiles and headlines do not name them. */
function reportScope({ tables }: Dataset, locale: string): readonly string[] {
  const shared = sharedFilters(tables);
  const [first] = tables.filter(({ columns }) => columns.some(({ kind }) => kind === 'metric'));
  if (first === undefined) return [];
  const differing = ownFilters(first, shared);
  return filterFacts({ filters: first.filters.filter((filter) => !differing.includes(filter)) }, locale);
}

function chartStatuses(chart: Chart, table: Table, { judgements }: Dataset, words: Words): string[] {
  const metrics = new Set(chart.axes.flatMap(({ series }) => series.map(({ metric }) => metric)));
  return table.columns.flatMap(({ name, label }) => {
    const judgement = metrics.has(name) ? totalJudgement(judgements, table.id, name) : undefined;
    return judgement === undefined
      ? []
      : [words.status.headline(isolateBidi(label), [statusText(judgement, words)], undefined)];
  });
}

function codedChart(table: Table, locale: string): Pick<SummarySection, 'drawn' | 'codes'> {
  const { tables, codes } = withNameCodes([table], { shows: createPaintable(), write: ({ code }) => code });
  const [coded] = tables;
  const drawn = codes.length === 0 || coded === undefined ? undefined : buildChart(coded, locale, MAX_CHART_GROUPS);
  if (drawn === undefined) return {};
  const texts = drawn.axes.flatMap(({ title, series }) => [title, ...series.map(({ name }) => name)]);
  const shown = [...drawn.categories, ...texts];
  return { drawn, codes: codes.filter(({ code }) => shown.some((text) => text.includes(code))) };
}

/** Adds the charts of the first sections that have one. */
function attachCharts(sections: readonly SummarySection[], { dataset, locale }: SummaryOptions): SummarySection[] {
  const tables = new Map(dataset.tables.map((table) => [table.id, table]));
  let drawn = 0;
  return sections.map((section) => {
    const table = tables.get(section.id);
    const chart = drawn < MAX_CHARTS && table !== undefined ? buildChart(table, locale, MAX_CHART_GROUPS) : undefined;
    if (chart === undefined || table === undefined) return section;
    drawn += 1;
    return {
      ...section,
      chart,
      ...codedChart(table, locale),
      chartStatuses: chartStatuses(chart, table, dataset, messagesFor(locale)),
    };
  });
}

/** Whether a note says why rows have no change. */
const isOfRows = ({ message }: Table['notes'][number]): boolean => message.id === 'unlike_rows';

/** The notes that the e-mail does not show at its top, without repetitions. */
const complete = (notes: readonly Note[]): string[] => [
  ...new Set(notes.filter(({ incomplete }) => !incomplete).map(({ text }) => text)),
];

/** @returns the notes of the table, and separately those on changes in its rows */
function formatNotes(table: Table, locale: string): Pick<SummarySection, 'notes' | 'rowNotes'> {
  const ofRows = isSingleRow(table) ? [] : table.notes.filter(isOfRows);
  const others = table.notes.filter((note) => !ofRows.includes(note));
  const words = messagesFor(locale);
  return {
    notes: complete(tableNotes({ ...table, notes: others }, locale)),
    rowNotes: complete(ofRows.map((note) => formatNote(words, note))),
  };
}

function summarySection(
  section: PackSection,
  said: ReadonlySet<string>,
  { dataset, locale }: SummaryOptions,
): SummarySection {
  const { table, title, description, takeaway, empty } = section;
  const content = sectionTable(section, dataset, locale);
  return {
    id: table.id,
    title,
    ...(description === undefined ? {} : { description }),
    ...(takeaway === undefined || said.has(takeaway) ? {} : { takeaway }),
    paragraphs: section.kind === 'text' ? section.paragraphs.filter((text) => !said.has(text)) : [],
    comments: section.comments,
    covers: section.kind === 'text' ? [] : coverageFacts(dataset, table, locale),
    filters: filterFacts(table, locale),
    sums: sumFacts(dataset, table, locale),
    running: !('path' in table.rows) && table.rows.some(({ partial }) => partial),
    ...(content === undefined ? {} : { table: content }),
    ...formatNotes(table, locale),
    legend: table.columns.length === 0 ? [] : legendNotes(table, locale),
    ...(empty === undefined || table.columns.length === 0 || empty === messagesFor(locale).workbook.section.noRows
      ? {}
      : { empty }),
  };
}

/** Whether a table lists persons or other records instead of figures. */
const isList = ({ columns }: Table): boolean => columns.some(({ kind }) => kind === 'field');

/**
 * Sorts tiles like the headlines: first one of each metric that the definition selects, then those of the report's
 * period and scope (breached, on watch, then the largest changes), then the others.
 */
function inHeadlineOrder(tiles: readonly Tile[], { dataset, locale, calendar = {} }: SummaryOptions): Tile[] {
  const requested = (dataset.headlineMetrics ?? []).flatMap(
    (metric) => tiles.find(({ source, place }) => source.metric === metric && place !== 'shorter') ?? [],
  );
  const news = byImportance(headlineFigures(dataset, locale, calendar).filter(isNews));
  const ranks = new Map(news.map(({ key }, index) => [key, index]));
  const rank = ({ key }: Tile): number => ranks.get(key) ?? ranks.size;
  const others = tiles.filter((tile) => !requested.includes(tile));
  return [...requested, ...others.sort((one, other) => byPlace(one.place, other.place) || rank(one) - rank(other))];
}

export function buildSummary(options: SummaryOptions): EmailSummary {
  const { dataset, locale, body = 'full', classification, calendar } = options;
  const pack = buildPack(dataset, { locale, classification, calendar });
  const tiles = inHeadlineOrder(buildTiles(dataset, locale), options);
  const shown = tiles.filter(({ place }) => place !== 'shorter').slice(0, MAX_TILES);
  const said = new Set([...pack.headlines, ...pack.attention.map(({ text }) => text)]);
  const listed = body === 'full-lists';
  const hidden = pack.sections.filter(({ table }) => isList(table) && !listed);
  // The scorecard comes before the charts, wherever it is in the report.
  const isScorecard = ({ table }: PackSection) => table.id === pack.summary?.of;
  const inBody = pack.sections.filter((section) => !hidden.includes(section));
  const sections = [...inBody.filter(isScorecard), ...inBody.filter((section) => !isScorecard(section))]
    .map((section) => summarySection(section, said, options))
    // The content of a text section may already be shown above.
    .filter(({ table, paragraphs, comments }) => table !== undefined || paragraphs.length + comments.length > 0);
  const basis = sharedCoverage(sections, dataset.tables);
  const scope = reportScope(dataset, locale);
  const { approval, correction, comments } = pack;
  return {
    ...(approval === undefined ? {} : { approval }),
    ...(correction === undefined ? {} : { correction }),
    comments,
    completeness: pack.completeness,
    attention: pack.attention,
    judged: (dataset.judgements ?? []).length > 0,
    few: countStatuses(dataset.judgements ?? [], true),
    tiles: shown,
    moreTiles: tiles.filter((tile) => !shown.includes(tile)),
    ...(basis === undefined && scope.length === 0 ? {} : { basis: [basis ?? [], scope].flat().join(' ') }),
    sections: attachCharts(sections, options).map((section) => ({
      ...section,
      covers: section.covers.filter((cover) => cover !== basis),
    })),
    hidden: hidden.map(({ title, table }) => ({ title, rows: table.rows.length })),
    commented: pack.sections
      .filter((section) => section.comments.length > 0)
      .map((section) => ({ id: section.table.id, title: section.title, comments: section.comments })),
  };
}
