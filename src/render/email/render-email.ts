import { DocketError } from '../../base/error.ts';
import { balanceBidiControls, isolateBidi, toSingleLine } from '../../base/text/bidi.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import { DEFAULT_LOCALE } from '../../i18n/messages.ts';
import type { Artifact, MailBody } from '../artifact.ts';
import type { EmailPictures } from './email-images.ts';
import { drawCharts, drawLogo, drawSmallCharts, type MailPicture } from './pictures.ts';
import { MAX_SUMMARY_ROWS } from './section-tables.ts';
import { buildSummary, type EmailSummary } from './summary.ts';
import { loadTemplate } from './template.ts';
import { type BodyData, buildTemplateData, type EmailOptions, type SizeBudget } from './template-data.ts';

/** Gmail truncates HTML at 102 KB. */
export const MAX_HTML_BYTES = 100_000;

const NO_LIMIT = Number.POSITIVE_INFINITY;
/** The rows of each section, and of sections with a picture, from the largest budget to the smallest. */
const ROWS = [
  [MAX_SUMMARY_ROWS, MAX_SUMMARY_ROWS],
  [7, 5],
  [5, 3],
  [5, 0],
] as const;
/** Below this number of rows, an e-mail shows fewer sections rather than fewer rows. */
const [LEAST_ROWS, LEAST_ROWS_BELOW_CHART] = [5, 0];
const MAX_ENTRIES = 12;
const MIN_ENTRIES = 6;

/** The tiles beside a scorecard, whose rows have the same figures. */
const FEWER_TILES = [3, 0];

/**
 * The budgets, tried in order until the e-mail is small enough: fewer rows first, then fewer sections, then fewer tiles
 * beside a scorecard, then no rows.
 */
function sizeBudgets({ sections }: Pick<EmailSummary, 'sections'>): readonly SizeBudget[] {
  const least = { rows: LEAST_ROWS, rowsBelowChart: LEAST_ROWS_BELOW_CHART, entries: MIN_ENTRIES };
  const fewer = sections.length - 1;
  const scorecardFirst = sections[0]?.table?.metrics === true;
  return [
    ...ROWS.map(([rows, rowsBelowChart]) => ({ rows, rowsBelowChart, sections: NO_LIMIT, entries: MAX_ENTRIES })),
    ...Array.from({ length: Math.max(0, fewer) }, (_, index) => ({ ...least, sections: fewer - index })),
    ...(scorecardFirst ? FEWER_TILES : []).map((tiles) => ({ ...least, sections: 1, tiles })),
    ...[3, 1, 0].map((shown) => ({ rows: 0, rowsBelowChart: 0, sections: shown, entries: MIN_ENTRIES })),
  ].map((budget) => ({ tiles: NO_LIMIT, ...budget }));
}

async function drawPictures(summary: EmailSummary, dataset: Dataset, { logo, body }: EmailOptions, locale: string) {
  const sections = body === 'summary' || body === 'notice' ? [] : summary.sections;
  const charts = await drawCharts(sections, locale);
  const cells = sections.flatMap(({ table }) => (table?.rows ?? []).flatMap((row) => row.cells));
  const smallCharts = await drawSmallCharts(cells.flatMap(({ chart }) => chart ?? []));
  const drawnLogo = await drawLogo(logo, dataset.organization);
  const toPictureData = <Key>(pictures: ReadonlyMap<Key, MailPicture>) =>
    new Map([...pictures].map(([key, { data }]) => [key, data]));
  const data: EmailPictures = {
    logo: drawnLogo?.data,
    charts: toPictureData(charts),
    smallCharts: toPictureData(smallCharts),
  };
  const all = [...(drawnLogo === undefined ? [] : [drawnLogo]), ...charts.values(), ...smallCharts.values()];
  return { data, images: [...new Map(all.map(({ image }) => [image.cid, image])).values()] };
}

/**
 * Renders a body of a report's e-mail as HTML and as text, from `email/report.mjml` and `email/report.txt.liquid`, with
 * its images. It stays below Gmail's limit and below a length that readers scroll through: first the sections show
 * fewer rows, then the e-mail shows fewer sections and, beside a scorecard, fewer tiles, and says so. The same data
 * always gives the same bytes. Throws `template.invalid` with file, line and column, or `render.failed` if even the
 * smallest e-mail is too large.
 */
export async function renderEmail(
  dataset: Dataset,
  artifacts: readonly Artifact[],
  options: EmailOptions,
): Promise<MailBody> {
  const locale = options.locale ?? DEFAULT_LOCALE;
  const [html, text] = [loadTemplate('html', options.templates), loadTemplate('text', options.templates)];
  const { body, classification, calendar } = options;
  const summary = buildSummary({ dataset, locale, body, classification, calendar });
  const pictures = await drawPictures(summary, dataset, options, locale);
  const input = { dataset, summary, artifacts, pictures: pictures.data, options };
  const fill = (data: BodyData): MailBody => {
    const filled = html.fill(escapeForHtml(data));
    return {
      html: filled,
      text: text.fill(escapeForText(data)),
      // E-mail clients show an image that is not referenced as an attachment.
      pictures: pictures.images.filter(({ cid }) => filled.includes(`cid:${cid}`)),
    };
  };
  const render = (data: BodyData): MailBody | undefined => {
    // An approval adds its line and changes nothing else: the e-mail shows as much as the reviewed one.
    const reviewed = fill({ ...data, approval: '' });
    if (Buffer.byteLength(reviewed.html) > MAX_HTML_BYTES) return undefined;
    return data.approval === '' ? reviewed : fill(data);
  };
  let smallest: BodyData | undefined;
  for (const budget of sizeBudgets(summary)) {
    smallest = buildTemplateData(input, budget);
    const rendered = lengthInRows(smallest) > MAX_LENGTH ? undefined : render(smallest);
    if (rendered !== undefined) return rendered;
  }
  // It is longer than wanted, e.g. because of many notes, but it can be sent.
  const rendered = smallest && render(smallest);
  if (rendered !== undefined) return rendered;
  throw new DocketError('render.failed', 'The e-mail exceeds the size that Gmail displays.', {
    where: html.file,
    expected: `at most ${MAX_HTML_BYTES.toLocaleString('en')} bytes of HTML`,
    got: `${dataset.tables.length} sections`,
    next: 'Split the report into several, or use a shorter custom template.',
  });
}

/** The longest e-mail that readers scroll through, in table rows: about 2,500 pixels at a width of 600 pixels. */
const MAX_LENGTH = 39;

/** The height of a table row in CSS pixels. */
const ROW_PX = 60;
/**
 * The most rows of comments that count. Longer comments take no space from the figures: the e-mail gets longer instead.
 */
const MAX_COMMENTS = 12;

const count = (lists: readonly { readonly length: number }[]): number =>
  lists.reduce((total, { length }) => total + length, 0);

/** The length of an e-mail, in table rows with wrapped texts. Each part has a fixed length, whatever its texts. */
function lengthInRows(data: BodyData): number {
  const { sections, tile_rows: tiles, attention, incomplete, other_headlines: headlines, changes, reading } = data;
  const others = data.other_sections;
  const comments = [...data.comments, ...sections.flatMap((section) => section.comments)];
  const lengths = sections.map(
    ({ rows, totals, chart, paragraphs, facts, notes }) =>
      1.5 +
      0.9 * (rows.length + (totals.length > 0 ? 1 : 0)) +
      (chart === null ? 0 : chart.height / ROW_PX) +
      count([paragraphs, facts, notes]) / 2,
  );
  return (
    9 +
    4 * tiles.length +
    count([attention, incomplete, headlines, changes, reading]) / 2 +
    others.length / 4 +
    lengths.reduce((total, each) => total + each, 0) +
    Math.min(MAX_COMMENTS, count(comments.flatMap(({ parts }) => parts.map(({ lines }) => lines))))
  );
}

/** The character that separates cells in the text part, and characters that look like it. */
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

/** For the HTML part: direction controls in a name must not affect the text that follows. */
const escapeForHtml = (data: BodyData): object => mapTexts(data, balanceBidiControls);

/** The description comes from the definition and may have several lines. */
const keepDescriptionLines = (text: string, name: string): string =>
  name === 'description' ? text.split('\n').map(toSingleLine).join('\n') : toSingleLine(text);

/** Isolates the direction of a cell from its neighbours, and replaces separators in it. */
const escapeTableCell = <Cell extends { readonly text: string }>(cell: Cell): Cell => ({
  ...cell,
  text: isolateBidi(toSingleLine(cell.text).replace(SEPARATORS, '/')),
});

/** For the text part: data must not add lines, because a line is a row, or `|`, because it starts a cell. */
const escapeForText = (data: BodyData): object =>
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
