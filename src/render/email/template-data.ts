import { isolateBidi } from '../../base/text/bidi.ts';
import { intlNumberFormat } from '../../base/text/intl.ts';
import { formatPeriod, shortPeriod } from '../../definitions/periods/period.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import { DEFAULT_LOCALE, messagesFor, type Words } from '../../i18n/messages.ts';
import { type Artifact, type MailBodyName, outputFormatOf } from '../artifact.ts';
import { formatZonedInstant } from '../figures/format-date.ts';
import { fewStatusText, statusText } from '../figures/status-text.ts';
import type { FormatContext } from '../formats/format.ts';
import { commentData, type RestLocation, reviewData } from './data/review-data.ts';
import type { EmailPictures } from './email-images.ts';
import { moreCountText, omissionText, recipientReason, remainderLocation, type TriggerInfo } from './phrases.ts';
import type { EmailSummary, SummarySection } from './summary.ts';
import type { SectionTable, SummaryCell, SummaryRow } from './summary-cells.ts';
import type { Tile } from './tiles.ts';

export interface EmailOptions
  extends TriggerInfo,
    Pick<FormatContext, 'run' | 'madeAt' | 'locale' | 'logo' | 'classification' | 'calendar'> {
  /**
   * Folder of custom templates, with `email/report.mjml`, `email/report.txt.liquid` or both. Default: the built-in
   * ones.
   */
  readonly templates?: string | undefined;
  /** Absent: `full`. */
  readonly body?: MailBodyName | undefined;
  /** URL of the run's page; absent without a public URL. */
  readonly pageUrl?: string | undefined;
  /** The output formats that the e-mail attaches. Default: none. */
  readonly attached?: readonly string[] | undefined;
}

/** How much of the summary an e-mail shows. */
export interface SizeBudget {
  /** Rows of each section. */
  readonly rows: number;
  /** Rows of each section whose chart has a picture. */
  readonly rowsBelowChart: number;
  readonly sections: number;
  /** Without tiles there are also no headlines, except what needs attention. */
  readonly tiles: number;
  /** The most notes on incomplete data, and the most files. */
  readonly entries: number;
}

export interface TemplateDataInput {
  readonly dataset: Dataset;
  readonly summary: EmailSummary;
  readonly artifacts: readonly Artifact[];
  readonly pictures: EmailPictures;
  readonly options: EmailOptions;
}

const sizeText = (bytes: number, locale: string): string =>
  bytes < 1_000_000
    ? `${intlNumberFormat(locale).format(Math.max(1, Math.round(bytes / 1000)))} kB`
    : `${intlNumberFormat(locale, { maximumFractionDigits: 1 }).format(bytes / 1_000_000)} MB`;

/** On a screen. A phone shows one below the other. */
const TILES_PER_ROW = 3;
/** The most figures that are listed as breached or on watch. */
const MAX_ATTENTION = 6;
/** The most titles of sections that only the files contain. */
const MAX_OTHER_SECTIONS = 12;

function tileRows<Item>(tiles: readonly Item[]): Item[][] {
  const rows = Math.ceil(tiles.length / TILES_PER_ROW);
  return Array.from({ length: rows }, (_, row) => tiles.slice(row * TILES_PER_ROW, (row + 1) * TILES_PER_ROW));
}

function shownRows(table: SectionTable | undefined, most: number): readonly SummaryRow[] {
  if (most === 0 || table === undefined) return [];
  const { rows, which, metrics } = table;
  // A scorecard exists to show metrics, so they are not left out.
  if (metrics) return firstMetrics(rows);
  return which === 'last' ? rows.slice(-most) : rows.slice(0, most);
}

/** The most metrics of a scorecard: as many as fit beside everything else. */
const MAX_METRICS = 12;

function firstMetrics(rows: readonly SummaryRow[]): readonly SummaryRow[] {
  let left = MAX_METRICS;
  const end = rows.findIndex(({ heading }) => !heading && left-- === 0);
  const shown = end < 0 ? rows : rows.slice(0, end);
  return shown.at(-1)?.heading ? shown.slice(0, -1) : shown;
}

const rowLimit = (hasPicture: boolean, budget: SizeBudget): number =>
  hasPicture ? budget.rowsBelowChart : budget.rows;

/** Whether the shown sections already contain the tile's figure. */
function isShownInSections(
  { source }: Tile,
  sections: readonly SummarySection[],
  limitOf: (section: SummarySection) => number,
): boolean {
  const section = sections.find(({ id }) => id === source.section);
  if (section?.table === undefined) return false;
  const { metrics, each } = section.table.headline;
  const shown = each === 'row' && limitOf(section) === 0 ? [] : metrics;
  return shown.includes(source.metric);
}

const cellData = ({ chart, ...cell }: SummaryCell, { smallCharts }: EmailPictures) => ({
  ...cell,
  picture: (chart && smallCharts.get(chart)) ?? null,
});

function sectionData(section: SummarySection, { pictures, budget, location, rest, words }: SectionContext) {
  const { title, description = '', takeaway = '', paragraphs, covers, filters, sums, table, notes, rowNotes } = section;
  const { headers = [], totals = [] } = table ?? {};
  const picture = pictures.charts.get(section.id);
  const shown = shownRows(table, rowLimit(picture !== undefined, budget));
  const count = shown.filter(({ heading }) => !heading).length;
  return {
    title,
    description,
    takeaway,
    paragraphs,
    comments: section.comments.map((comment) => commentData(comment, rest, words)),
    facts: [...covers, ...filters, ...sums],
    headers,
    rows: shown.map(({ cells, clipped = false, ...row }) => ({
      ...row,
      clipped,
      cells: cells.map((cell) => cellData(cell, pictures)),
    })),
    totals: totals.map((cell) => cellData(cell, pictures)),
    more: section.empty ?? (table === undefined ? '' : omissionText(table, count, location, words)),
    notes: shown.length === 0 ? notes : [...rowNotes, ...notes],
    chart: picture ?? null,
  };
}

interface SectionContext {
  readonly pictures: EmailPictures;
  readonly budget: SizeBudget;
  readonly location: string;
  readonly rest: RestLocation;
  readonly words: Words;
}

const tileData = ({
  label,
  name,
  scope,
  value,
  few,
  change = '',
  changes,
  status = '',
  target = '',
  ...rest
}: Tile) => ({
  label,
  name,
  scope,
  value,
  few,
  change,
  changes,
  status,
  state: rest.state ?? ('' as const),
  target,
  range: rest.range ?? '',
  section: rest.section,
});

/**
 * The figures that are breached or on watch, in words, and a heading with their number. Empty if nothing has a target.
 */
function attentionData({ attention, judged, few }: EmailSummary, words: Words) {
  const { mail } = words;
  const count = (status: 'breached' | 'watch') => attention.filter((each) => each.status === status).length;
  const judgedText =
    attention.length > 0 ? mail.attention(count('breached'), count('watch')) : judged ? mail.nothingBreached : '';
  const heading = [judgedText, fewStatusText(few, words)]
    .filter((text) => text !== '')
    .join(attention.length > 0 ? '; ' : ' ');
  return {
    attention: attention
      .slice(0, MAX_ATTENTION)
      .map(({ status, text }) => ({ state: status, status: statusText({ status }, words), text })),
    attention_heading: heading,
    more_attention: attention.length > MAX_ATTENTION ? mail.moreAttention(attention.length - MAX_ATTENTION) : '',
  };
}

const titleWithRows = (title: string, rows: number | null, mail: Words['mail']): string =>
  rows === null ? isolateBidi(title) : mail.named(isolateBidi(title), [mail.rowCount(rows)]);

/** Which parts a body has. A notice has no figures, and therefore no notes that may name some. */
const PARTS = {
  full: { figures: true, sections: true },
  'full-lists': { figures: true, sections: true },
  summary: { figures: true, sections: false },
  notice: { figures: false, sections: false },
} as const satisfies Record<MailBodyName, object>;

/**
 * Builds the variables of e-mail templates. They are the contract with custom templates, documented in
 * `templates/README.md`. Every name exists. Texts and lists may be empty, and only pictures may be nil.
 */
export function buildTemplateData(
  { dataset, summary, artifacts, pictures, options }: TemplateDataInput,
  budget: SizeBudget,
) {
  const locale = options.locale ?? DEFAULT_LOCALE;
  const attached = new Set<string>(options.attached ?? []);
  const words = messagesFor(locale);
  const { mail } = words;
  const body = options.body ?? 'full';
  const has = PARTS[body];
  const location = remainderLocation(attached, words);
  const rest = artifacts.length === 0 ? undefined : location;
  const { completeness } = summary;
  const incomplete = has.figures ? completeness.notes : [];
  // Readers cannot open a file that is named but not attached.
  const files = artifacts.filter((artifact) => attached.has(outputFormatOf(artifact)));
  const tiles = has.figures ? summary.tiles.slice(0, budget.tiles).map(tileData) : [];
  const sections = has.sections ? summary.sections.slice(0, budget.sections) : [];
  const left = has.sections ? summary.sections.slice(sections.length) : [];
  const others = [
    ...left.map(({ title, table }) => titleWithRows(title, table?.size.rows ?? null, mail)),
    ...(has.sections ? summary.hidden : []).map(({ title, rows }) => titleWithRows(title, rows, mail)),
  ];
  const getRowLimit = (section: SummarySection) => rowLimit(pictures.charts.has(section.id), budget);
  const moreTiles = has.figures ? [...summary.tiles.slice(budget.tiles), ...summary.moreTiles] : [];
  const below = moreTiles.filter((tile) => isShownInSections(tile, sections, getRowLimit)).length;
  const moreTileTexts = [
    moreCountText(below, mail.below, mail.moreFigures),
    moreCountText(moreTiles.length - below, location, mail.moreFigures),
  ];
  const headlines = has.figures ? (dataset.headlines ?? []) : [];
  const shownHeadlines = budget.tiles === 0 ? [] : headlines;
  const needsAttention = attentionData(has.figures ? summary : { ...summary, attention: [], judged: false }, words);
  const said = new Set(needsAttention.attention.map(({ text }) => text));
  return {
    body,
    title: dataset.title,
    description: dataset.description ?? '',
    organization: dataset.organization,
    logo: pictures.logo ?? null,
    classification: options.classification ?? '',
    ...reviewData(summary, { rest, figures: has.figures, sections, words }),
    completeness: completeness.text,
    complete: completeness.complete,
    org: dataset.org,
    report: dataset.report,
    owner: dataset.owner,
    run: options.run,
    page_url: options.pageUrl ?? '',
    locale,
    words: mail.template,
    period: { ...dataset.period, words: formatPeriod(dataset.period, locale) },
    made: formatZonedInstant(new Date(options.madeAt), dataset.period.timezone, locale),
    ready: body === 'notice' ? mail.ready(shortPeriod(dataset.period, locale)) : '',
    reason: recipientReason(dataset, options, locale),
    basis: has.figures ? (summary.basis ?? '') : '',
    incomplete: incomplete.slice(0, budget.entries).map(({ title, text }) => ({ section: title, text })),
    incomplete_heading: incomplete.length === 0 ? '' : mail.thingsToKnow(incomplete.length),
    more_incomplete: moreCountText(incomplete.length - budget.entries, location, mail.moreRemarks),
    ...needsAttention,
    headline: headlines[0] ?? '',
    headlines,
    other_headlines: shownHeadlines.filter((sentence) => !said.has(sentence)),
    tiles,
    tile_rows: tileRows(tiles),
    more_tiles: moreTileTexts.filter((sentence) => sentence !== '').join(' '),
    sections: sections.map((section) => sectionData(section, { pictures, budget, location, rest, words })),
    more_sections: moreCountText(others.length, location, mail.moreSections),
    other_sections: others.slice(0, MAX_OTHER_SECTIONS),
    reading: [...new Set(sections.flatMap(({ legend }) => legend))],
    files: files.slice(0, budget.entries).map((artifact) => ({
      name: artifact.name,
      size: sizeText(artifact.bytes, locale),
      attached: attached.has(outputFormatOf(artifact)),
    })),
    more_files:
      files.length === 0
        ? ''
        : moreCountText(artifacts.length - Math.min(files.length, budget.entries), location, mail.moreFiles),
  };
}

/** The variables of one body. */
export type BodyData = ReturnType<typeof buildTemplateData>;
