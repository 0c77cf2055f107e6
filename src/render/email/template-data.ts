import { balanceBidiControls, isolateBidi, toSingleLine } from '../../base/text/bidi.ts';
import { intlNumberFormat } from '../../base/text/intl.ts';
import type { FiscalCalendar } from '../../definitions/periods/fiscal-calendar.ts';
import { formatPeriod } from '../../definitions/periods/period.ts';
import { type Dataset, incompleteNotes } from '../../fetch/dataset.ts';
import { DEFAULT_LOCALE, messagesFor, type Words } from '../../i18n/messages.ts';
import { type Artifact, type MailBodyName, outputFormatOf } from '../artifact.ts';
import { formatZonedInstant } from '../figures/format-value.ts';
import { moreCountText, omissionText, recipientReason, remainderLocation, type TriggerInfo } from './phrases.ts';
import type { EmailSummary, SummarySection } from './summary.ts';
import type { Tile } from './tiles.ts';

export interface EmailOptions extends TriggerInfo {
  readonly run: string;
  /** Epoch ms. */
  readonly madeAt: number;
  /** Folder of custom templates, with `email/report.mjml`, `email/report.txt.liquid` or both; the built-in ones when absent. */
  readonly templates?: string | undefined;
  /** Absent: `full`. */
  readonly body?: MailBodyName | undefined;
  /** The page of the run; absent without a public URL. */
  readonly pageUrl?: string | undefined;
  /** Path of a PNG or JPEG. */
  readonly logo?: string | undefined;
  /** E.g. `Confidential`. */
  readonly classification?: string | undefined;
  /** The organization's fiscal year, for sentences about changes. */
  readonly calendar?: FiscalCalendar | undefined;
  /** The output formats that the e-mail attaches; none when absent. */
  readonly attached?: readonly string[] | undefined;
  /** BCP 47; `en-GB` when absent. */
  readonly locale?: string | undefined;
}

/** How much of the summary an e-mail shows. */
export interface SizeBudget {
  /** Rows of each section. */
  readonly rows: number;
  readonly sections: number;
  /** Incomplete notes, and files. */
  readonly entries: number;
}

/** The image of a section in the template data. */
export interface ImageData {
  readonly cid: string;
  /** The alternative text. */
  readonly alt: string;
  /** The caption; may be empty. */
  readonly note: string;
}

export interface TemplateDataInput {
  readonly dataset: Dataset;
  readonly summary: EmailSummary;
  readonly artifacts: readonly Artifact[];
  /** By section id. */
  readonly pictures: ReadonlyMap<string, ImageData>;
  readonly options: EmailOptions;
}

const sizeText = (bytes: number, locale: string): string =>
  bytes < 1_000_000
    ? `${intlNumberFormat(locale).format(Math.max(1, Math.round(bytes / 1000)))} kB`
    : `${intlNumberFormat(locale, { maximumFractionDigits: 1 }).format(bytes / 1_000_000)} MB`;

/** On a screen; a phone shows two per row. */
const TILES_PER_ROW = 4;

function tileRows<Item>(tiles: readonly Item[]): Item[][] {
  const rows = Math.ceil(tiles.length / TILES_PER_ROW);
  return Array.from({ length: rows }, (_, row) => tiles.slice(row * TILES_PER_ROW, (row + 1) * TILES_PER_ROW));
}

/** The attached files; without any, all files but companions. */
function listedFiles(artifacts: readonly Artifact[], attached: ReadonlySet<string>): readonly Artifact[] {
  const files = artifacts.filter((artifact) => attached.has(outputFormatOf(artifact)));
  return files.length > 0 ? files : artifacts.filter(({ part }) => part?.role !== 'companion');
}

function shownRows({ rows, which }: SummarySection, budget: SizeBudget): SummarySection['rows'] {
  if (budget.rows === 0) return [];
  return which === 'last' ? rows.slice(-budget.rows) : rows.slice(0, budget.rows);
}

/** Whether the shown sections contain the tile's figure. */
function isShownInSections({ source }: Tile, sections: readonly SummarySection[], budget: SizeBudget): boolean {
  const section = sections.find(({ id }) => id === source.section);
  if (section === undefined) return false;
  const { metrics, each } = section.headline;
  const shown = each === 'row' ? metrics.slice(0, shownRows(section, budget).length) : metrics;
  return shown.includes(source.metric);
}

function sectionData(
  section: SummarySection,
  picture: ImageData | undefined,
  budget: SizeBudget,
  location: string,
  words: Words,
) {
  const { title, description = '', covers, filters, sums, headers, totals = [], notes } = section;
  const shown = shownRows(section, budget);
  return {
    title,
    description,
    facts: [...covers, ...filters, ...sums],
    headers,
    rows: shown,
    totals,
    more: section.empty ?? omissionText(section, shown.length, location, words),
    notes,
    chart: picture ?? null,
  };
}

/**
 * The variables of e-mail templates: the contract with custom templates, documented in `templates/README.md`. Every name
 * exists; texts and lists may be empty, and only a section's `chart` may be nil.
 */
export function buildTemplateData(
  { dataset, summary, artifacts, pictures, options }: TemplateDataInput,
  budget: SizeBudget,
) {
  const locale = options.locale ?? DEFAULT_LOCALE;
  const attached = new Set<string>(options.attached ?? []);
  const words = messagesFor(locale);
  const { mail } = words;
  const location = remainderLocation(attached, artifacts, words);
  const titles = new Map(dataset.tables.map((table) => [table.id, table.title]));
  const incomplete = incompleteNotes(dataset, words).map(({ section, text }) => ({
    section: titles.get(section) ?? section,
    text,
  }));
  const files = listedFiles(artifacts, attached);
  const tiles = summary.tiles.map(
    ({ label, name, scope, value, change = '', changes, status = '', state = '', target = '', section }) => ({
      label,
      name,
      scope,
      value,
      change,
      changes,
      status,
      state,
      target,
      section,
    }),
  );
  const sections = summary.sections.slice(0, budget.sections);
  const below = summary.moreTiles.filter((tile) => isShownInSections(tile, sections, budget)).length;
  const moreTiles = [
    moreCountText(below, mail.below, mail.moreFigures),
    moreCountText(summary.moreTiles.length - below, location, mail.moreFigures),
  ];
  return {
    title: dataset.title,
    description: dataset.description ?? '',
    organization: dataset.organization,
    org: dataset.org,
    report: dataset.report,
    owner: dataset.owner,
    run: options.run,
    locale,
    words: mail.template,
    period: { ...dataset.period, words: formatPeriod(dataset.period, locale) },
    made: formatZonedInstant(new Date(options.madeAt), dataset.period.timezone, locale),
    reason: recipientReason(dataset, options, locale),
    basis: summary.basis ?? '',
    incomplete: incomplete.slice(0, budget.entries),
    incomplete_heading: incomplete.length === 0 ? '' : mail.thingsToKnow(incomplete.length),
    more_incomplete: moreCountText(incomplete.length - budget.entries, location, mail.moreRemarks),
    headline: dataset.headlines?.[0] ?? '',
    headlines: dataset.headlines ?? [],
    tiles,
    tile_rows: tileRows(tiles),
    more_tiles: moreTiles.filter((sentence) => sentence !== '').join(' '),
    sections: sections.map((section) => sectionData(section, pictures.get(section.id), budget, location, words)),
    more_sections: moreCountText(summary.sections.length - budget.sections, location, mail.moreSections),
    reading: summary.reading,
    files: files.slice(0, budget.entries).map((artifact) => ({
      name: artifact.name,
      size: sizeText(artifact.bytes, locale),
      attached: attached.has(outputFormatOf(artifact)),
    })),
    more_files: moreCountText(artifacts.length - Math.min(files.length, budget.entries), location, mail.moreFiles),
  };
}

type TemplateData = ReturnType<typeof buildTemplateData>;

/** The separator of cells in the text part, and characters that look like it. */
const SEPARATORS = /[|¦‖｜│┃❘∣ǀ]/g;

/** Changes every text in the data. */
function mapTexts(data: object, change: (text: string, name: string) => string): object {
  const changed = (value: unknown, name: string): unknown => {
    if (typeof value === 'string') return change(value, name);
    if (Array.isArray(value)) return value.map((item) => changed(item, name));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, changed(inner, key)]));
  };
  return Object.fromEntries(Object.entries(data).map(([key, inner]) => [key, changed(inner, key)]));
}

/** For the HTML part: direction controls in a name must not affect the text after it. */
export const escapeForHtml = (data: TemplateData): object => mapTexts(data, balanceBidiControls);

/** The description comes from the definition and may have several lines. */
const keepDescriptionLines = (text: string, name: string): string =>
  name === 'description' ? text.split('\n').map(toSingleLine).join('\n') : toSingleLine(text);

/** Isolates the direction of a cell from its neighbours, and replaces separators. */
const escapeTableCell = <Cell extends { readonly text: string }>(cell: Cell): Cell => ({
  ...cell,
  text: isolateBidi(toSingleLine(cell.text).replace(SEPARATORS, '/')),
});

/** For the text part: data must not add lines, which are rows, or `|`, which starts a cell. */
export const escapeForText = (data: TemplateData): object =>
  mapTexts(
    {
      ...data,
      sections: data.sections.map((section) => ({
        ...section,
        headers: section.headers.map(escapeTableCell),
        rows: section.rows.map((row) => ({ ...row, cells: row.cells.map(escapeTableCell) })),
        totals: section.totals.map(escapeTableCell),
      })),
    },
    keepDescriptionLines,
  );
