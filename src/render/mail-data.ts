import { numberFormat } from '../base/formats.ts';
import { inWords } from '../define/period.ts';
import { type Dataset, incompleteNotes } from '../fetch/dataset.ts';
import { DEFAULT_LOCALE, type Words, wordsOf } from '../words/words.ts';
import type { Artifact } from './artifact.ts';
import type { Digest, DigestSection } from './digest.ts';
import { instantText } from './format.ts';
import { elsewhereText, leftOutText, moreText, type Occasion, reasonText } from './mail-words.ts';
import type { Tile } from './tiles.ts';

export interface MailOptions extends Occasion {
  readonly run: string;
  /** Epoch ms. */
  readonly madeAt: number;
  /** A folder of one's own, with `email/report.mjml`, `email/report.txt.liquid` or both; Docket's when absent. */
  readonly templates?: string | undefined;
  /** Formats that are attached to the mail; none when absent. */
  readonly attached?: readonly Artifact['format'][] | undefined;
  /** BCP 47; `en-GB` when absent. */
  readonly locale?: string | undefined;
}

/** How much of the digest a mail shows. */
export interface Room {
  /** Rows of each section. */
  readonly rows: number;
  readonly sections: number;
  /** Of what is incomplete, and of the files. */
  readonly entries: number;
}

/** A section's picture as a template speaks of it. */
export interface ShownPicture {
  readonly cid: string;
  /** What it shows, with the figures in words. */
  readonly alt: string;
  /** What it leaves out, and whether its end will grow; may be empty. */
  readonly note: string;
}

export interface MailParts {
  readonly dataset: Dataset;
  readonly digest: Digest;
  readonly artifacts: readonly Artifact[];
  /** By section id. */
  readonly pictures: ReadonlyMap<string, ShownPicture>;
  readonly options: MailOptions;
}

const sizeText = (bytes: number, locale: string): string =>
  bytes < 1_000_000
    ? `${numberFormat(locale).format(Math.max(1, Math.round(bytes / 1000)))} kB`
    : `${numberFormat(locale, { maximumFractionDigits: 1 }).format(bytes / 1_000_000)} MB`;

/** Side by side on a screen; a phone shows two beside two. */
const TILES_A_ROW = 4;

function tileRows<Shown>(tiles: readonly Shown[]): Shown[][] {
  const rows = Math.ceil(tiles.length / TILES_A_ROW);
  return Array.from({ length: rows }, (_, row) => tiles.slice(row * TILES_A_ROW, (row + 1) * TILES_A_ROW));
}

/** The files that come with the mail; where none comes, those that were made, without the descriptions beside them. */
function listed(artifacts: readonly Artifact[], attached: ReadonlySet<string>): readonly Artifact[] {
  const here = artifacts.filter(({ format }) => attached.has(format));
  return here.length > 0 ? here : artifacts.filter(({ format }) => format !== 'schema');
}

function shownRows({ rows, which }: DigestSection, room: Room): DigestSection['rows'] {
  if (room.rows === 0) return [];
  return which === 'last' ? rows.slice(-room.rows) : rows.slice(0, room.rows);
}

/** Whether the sections that are shown have the tile's figure, too. */
function isBelow({ of }: Tile, sections: readonly DigestSection[], room: Room): boolean {
  const section = sections.find(({ id }) => id === of.section);
  if (section === undefined) return false;
  const { metrics, each } = section.headline;
  const shown = each === 'row' ? metrics.slice(0, shownRows(section, room).length) : metrics;
  return shown.includes(of.metric);
}

function sectionData(
  section: DigestSection,
  picture: ShownPicture | undefined,
  room: Room,
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
    more: section.empty ?? leftOutText(section, shown.length, where, words),
    notes,
    chart: picture ?? null,
  };
}

/**
 * What a template may speak of: the contract with templates of one's own, documented in `templates/README.md`. Texts
 * may be empty and lists too, but every name is there; only a section's `chart` may be nil.
 */
export function mailData({ dataset, digest, artifacts, pictures, options }: MailParts, room: Room) {
  const locale = options.locale ?? DEFAULT_LOCALE;
  const attached = new Set<string>(options.attached ?? []);
  const words = wordsOf(locale);
  const { mail } = words;
  const where = elsewhereText(attached, artifacts, words);
  const titles = new Map(dataset.tables.map((table) => [table.id, table.title]));
  const incomplete = incompleteNotes(dataset, words).map(({ section, text }) => ({
    section: titles.get(section) ?? section,
    text,
  }));
  const files = listed(artifacts, attached);
  const tiles = digest.tiles.map(({ label, name, scope, value, change = '', section }) => ({
    label,
    name,
    scope,
    value,
    change,
    section,
  }));
  const sections = digest.sections.slice(0, room.sections);
  const below = digest.moreTiles.filter((tile) => isBelow(tile, sections, room)).length;
  const moreTiles = [
    moreText(below, mail.below, mail.moreFigures),
    moreText(digest.moreTiles.length - below, where, mail.moreFigures),
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
    period: { ...dataset.period, words: inWords(dataset.period, locale) },
    made: instantText(new Date(options.madeAt), dataset.period.timezone, locale),
    reason: reasonText(dataset, options, locale),
    basis: digest.basis ?? '',
    incomplete: incomplete.slice(0, room.entries),
    incomplete_heading: incomplete.length === 0 ? '' : mail.thingsToKnow(incomplete.length),
    more_incomplete: moreText(incomplete.length - room.entries, where, mail.moreRemarks),
    tiles,
    tile_rows: tileRows(tiles),
    more_tiles: moreTiles.filter((sentence) => sentence !== '').join(' '),
    sections: sections.map((section) => sectionData(section, pictures.get(section.id), room, where, words)),
    more_sections: moreText(digest.sections.length - room.sections, where, mail.moreSections),
    reading: digest.reading,
    files: files.slice(0, room.entries).map((artifact) => ({
      name: artifact.name,
      size: sizeText(artifact.bytes, locale),
      attached: attached.has(artifact.format),
    })),
    more_files: moreText(artifacts.length - Math.min(files.length, room.entries), where, mail.moreFiles),
  };
}
