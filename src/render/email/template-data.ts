import { balanceBidiControls, isolateBidi, toSingleLine } from '../../base/text/bidi.ts';
import { intlNumberFormat } from '../../base/text/intl.ts';
import { formatPeriod } from '../../definitions/periods/period.ts';
import { type Dataset, incompleteNotes } from '../../fetch/dataset.ts';
import { DEFAULT_LOCALE, messagesFor, type Words } from '../../i18n/messages.ts';
import { type Artifact, outputFormatOf } from '../artifact.ts';
import { formatZonedInstant } from '../figures/format-value.ts';
import { moreCountText, omissionText, recipientReason, remainderLocation, type TriggerInfo } from './phrases.ts';
import type { EmailSummary, SummarySection } from './summary.ts';
import type { Tile } from './tiles.ts';

export interface EmailOptions extends TriggerInfo {
  readonly run: string;
  /** Epoch ms. */
  readonly madeAt: number;
  /** A folder of one's own, with `email/report.mjml`, `email/report.txt.liquid` or both; Docket's when absent. */
  readonly templates?: string | undefined;
  /** The output formats that the e-mail attaches; none when absent. */
  readonly attached?: readonly string[] | undefined;
  /** BCP 47; `en-GB` when absent. */
  readonly locale?: string | undefined;
}

/** How much of the digest a mail shows. */
export interface SizeBudget {
  /** Rows of each section. */
  readonly rows: number;
  readonly sections: number;
  /** Of what is incomplete, and of the files. */
  readonly entries: number;
}

/** A section's picture as a template speaks of it. */
export interface ImageData {
  readonly cid: string;
  /** What it shows, with the figures in words. */
  readonly alt: string;
  /** What it leaves out, and whether its end will grow; may be empty. */
  readonly note: string;
}

export interface TemplateDataInput {
  readonly dataset: Dataset;
  readonly digest: EmailSummary;
  readonly artifacts: readonly Artifact[];
  /** By section id. */
  readonly pictures: ReadonlyMap<string, ImageData>;
  readonly options: EmailOptions;
}

const sizeText = (bytes: number, locale: string): string =>
  bytes < 1_000_000
    ? `${intlNumberFormat(locale).format(Math.max(1, Math.round(bytes / 1000)))} kB`
    : `${intlNumberFormat(locale, { maximumFractionDigits: 1 }).format(bytes / 1_000_000)} MB`;

/** Side by side on a screen; a phone shows two beside two. */
const TILES_PER_ROW = 4;

function tileRows<Shown>(tiles: readonly Shown[]): Shown[][] {
  const rows = Math.ceil(tiles.length / TILES_PER_ROW);
  return Array.from({ length: rows }, (_, row) => tiles.slice(row * TILES_PER_ROW, (row + 1) * TILES_PER_ROW));
}

/** The attached files; without any, all files but companions. */
function listedFiles(artifacts: readonly Artifact[], attached: ReadonlySet<string>): readonly Artifact[] {
  const files = artifacts.filter((artifact) => attached.has(outputFormatOf(artifact)));
  return files.length > 0 ? files : artifacts.filter(({ part }) => part?.role !== 'companion');
}

function shownRows({ rows, which }: SummarySection, room: SizeBudget): SummarySection['rows'] {
  if (room.rows === 0) return [];
  return which === 'last' ? rows.slice(-room.rows) : rows.slice(0, room.rows);
}

/** Whether the sections that are shown have the tile's figure, too. */
function isShownInSections({ of }: Tile, sections: readonly SummarySection[], room: SizeBudget): boolean {
  const section = sections.find(({ id }) => id === of.section);
  if (section === undefined) return false;
  const { metrics, each } = section.headline;
  const shown = each === 'row' ? metrics.slice(0, shownRows(section, room).length) : metrics;
  return shown.includes(of.metric);
}

function sectionData(
  section: SummarySection,
  picture: ImageData | undefined,
  room: SizeBudget,
  where: string,
  words: Words,
) {
  const { title, description = '', covers, filters, sums, headers, totals = [], notes } = section;
  const shown = shownRows(section, room);
  return {
    title,
    description,
    facts: [...covers, ...filters, ...sums],
    headers,
    rows: shown,
    totals,
    more: section.empty ?? omissionText(section, shown.length, where, words),
    notes,
    chart: picture ?? null,
  };
}

/**
 * What a template may speak of: the contract with templates of one's own, documented in `templates/README.md`. Texts
 * may be empty and lists too, but every name is there; only a section's `chart` may be nil.
 */
export function buildTemplateData(
  { dataset, digest, artifacts, pictures, options }: TemplateDataInput,
  room: SizeBudget,
) {
  const locale = options.locale ?? DEFAULT_LOCALE;
  const attached = new Set<string>(options.attached ?? []);
  const words = messagesFor(locale);
  const { mail } = words;
  const where = remainderLocation(attached, artifacts, words);
  const titles = new Map(dataset.tables.map((table) => [table.id, table.title]));
  const incomplete = incompleteNotes(dataset, words).map(({ section, text }) => ({
    section: titles.get(section) ?? section,
    text,
  }));
  const files = listedFiles(artifacts, attached);
  const tiles = digest.tiles.map(({ label, name, scope, value, change = '', section }) => ({
    label,
    name,
    scope,
    value,
    change,
    section,
  }));
  const sections = digest.sections.slice(0, room.sections);
  const below = digest.moreTiles.filter((tile) => isShownInSections(tile, sections, room)).length;
  const moreTiles = [
    moreCountText(below, mail.below, mail.moreFigures),
    moreCountText(digest.moreTiles.length - below, where, mail.moreFigures),
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
    basis: digest.basis ?? '',
    incomplete: incomplete.slice(0, room.entries),
    incomplete_heading: incomplete.length === 0 ? '' : mail.thingsToKnow(incomplete.length),
    more_incomplete: moreCountText(incomplete.length - room.entries, where, mail.moreRemarks),
    tiles,
    tile_rows: tileRows(tiles),
    more_tiles: moreTiles.filter((sentence) => sentence !== '').join(' '),
    sections: sections.map((section) => sectionData(section, pictures.get(section.id), room, where, words)),
    more_sections: moreCountText(digest.sections.length - room.sections, where, mail.moreSections),
    reading: digest.reading,
    files: files.slice(0, room.entries).map((artifact) => ({
      name: artifact.name,
      size: sizeText(artifact.bytes, locale),
      attached: attached.has(outputFormatOf(artifact)),
    })),
    more_files: moreCountText(artifacts.length - Math.min(files.length, room.entries), where, mail.moreFiles),
  };
}

type TemplateData = ReturnType<typeof buildTemplateData>;

/** What separates the cells of the text part, and what looks like it. */
const SEPARATORS = /[|¦‖｜│┃❘∣ǀ]/g;

/** The data with every text changed. */
function mapTexts(data: object, change: (text: string, name: string) => string): object {
  const changed = (value: unknown, name: string): unknown => {
    if (typeof value === 'string') return change(value, name);
    if (Array.isArray(value)) return value.map((item) => changed(item, name));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, changed(inner, key)]));
  };
  return Object.fromEntries(Object.entries(data).map(([key, inner]) => [key, changed(inner, key)]));
}

/** For the HTML part, whose elements keep line breaks from being any: no name turns the words around it around. */
export const escapeForHtml = (data: TemplateData): object => mapTexts(data, balanceBidiControls);

/** A description is the definition's own and may have several lines. */
const keepDescriptionLines = (text: string, name: string): string =>
  name === 'description' ? text.split('\n').map(toSingleLine).join('\n') : toSingleLine(text);

/** A cell beside others: a name from right to left would carry their figures along, and a separator would be a cell more. */
const escapeTableCell = <Cell extends { readonly text: string }>(cell: Cell): Cell => ({
  ...cell,
  text: isolateBidi(toSingleLine(cell.text).replace(SEPARATORS, '/')),
});

/** For the text part, where a line is a row and `|` begins a cell: names of data make neither. */
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
