import { createHash } from 'node:crypto';
import { DocketError } from '../../base/error.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import { DEFAULT_LOCALE, messagesFor, type Words } from '../../i18n/messages.ts';
import type { Artifact, InlineImage, MailBody } from '../artifact.ts';
import { isRasterizable, loadRasterizer } from '../charts/chart-rasterizer.ts';
import { chartAltText, chartCaption } from './phrases.ts';
import { buildSummary, type EmailSummary, MAX_SUMMARY_ROWS, type SummarySection } from './summary.ts';
import { loadTemplate } from './template.ts';
import {
  buildTemplateData,
  type EmailOptions,
  escapeForHtml,
  escapeForText,
  type ImageData,
  type SizeBudget,
} from './template-data.ts';

export type { EmailOptions as MailOptions };

/** Gmail cuts a message's HTML at 102 KB; headers and encodings are not counted in ours. */
export const MAX_HTML_BYTES = 100_000;

const NO_LIMIT = Number.POSITIVE_INFINITY;
/** Tried in turn until the HTML is small enough: fewer rows first, then fewer sections. */
const SIZE_BUDGETS: readonly SizeBudget[] = [
  ...[MAX_SUMMARY_ROWS, 7, 5, 3, 0].map((rows) => ({ rows, sections: NO_LIMIT, entries: 12 })),
  ...[30, 15, 7, 3, 0].map((sections) => ({ rows: 0, sections, entries: 6 })),
];

interface RasterizedChart {
  readonly section: string;
  readonly picture: InlineImage;
  readonly shown: ImageData;
}

/** The pictures of the sections that have a chart to draw. */
async function rasterizeCharts(sections: readonly SummarySection[], locale: string): Promise<RasterizedChart[]> {
  const charts = sections.flatMap((section) =>
    section.chart !== undefined && isRasterizable(section.chart) ? [{ section, chart: section.chart }] : [],
  );
  if (charts.length === 0) return [];
  const paint = await loadRasterizer();
  return charts.map(({ section, chart }) => {
    const { id } = section;
    const bytes = paint(chart, locale);
    // The same picture has the same id in every attempt; another picture never has it.
    const cid = `${id}.${createHash('sha256').update(bytes).digest('hex').slice(0, 24)}@docket`;
    return {
      section: id,
      picture: { cid, name: `mail-${id}.png`, bytes },
      shown: { cid, alt: chartAltText(chart, locale), note: chartCaption(chart, section, messagesFor(locale)) },
    };
  });
}

/** A chart without its picture is told among the notes, so that nobody looks for it. */
const withMissingChartNotes = (digest: EmailSummary, { chart }: Words): EmailSummary => ({
  ...digest,
  sections: digest.sections.map((section) =>
    section.chart === undefined || isRasterizable(section.chart)
      ? section
      : { ...section, notes: [...section.notes, chart.unpaintable] },
  ),
});

/**
 * The e-mail's two bodies from `email/report.mjml` and `email/report.txt.liquid`, with the pictures that the HTML shows:
 * the KPI digest with what is incomplete at its top. The HTML stays under Gmail's limit: sections show fewer rows until
 * it does, then fewer sections are shown, and the mail says so. The same figures make the same bytes.
 * Throws `template.invalid` with file, line and column, `render.failed` when even the smallest mail is too large.
 */
export async function renderEmail(
  dataset: Dataset,
  artifacts: readonly Artifact[],
  options: EmailOptions,
): Promise<MailBody> {
  const locale = options.locale ?? DEFAULT_LOCALE;
  const [html, text] = [loadTemplate('html', options.templates), loadTemplate('text', options.templates)];
  const digest = withMissingChartNotes(buildSummary({ dataset, locale }), messagesFor(locale));
  const painted = await rasterizeCharts(digest.sections, locale);
  const pictures = new Map(painted.map(({ section, shown }) => [section, shown]));
  for (const room of SIZE_BUDGETS) {
    const data = buildTemplateData({ dataset, digest, artifacts, pictures, options }, room);
    const filled = html.fill(escapeForHtml(data));
    if (Buffer.byteLength(filled) > MAX_HTML_BYTES) continue;
    return {
      html: filled,
      text: text.fill(escapeForText(data)),
      // A picture that no place shows would arrive as an attachment that nobody asked for.
      pictures: painted.map(({ picture }) => picture).filter(({ cid }) => filled.includes(`cid:${cid}`)),
    };
  }
  throw new DocketError('render.failed', 'The e-mail would be larger than mail programs show.', {
    where: html.file,
    expected: `at most ${MAX_HTML_BYTES.toLocaleString('en')} bytes of HTML`,
    got: `${dataset.tables.length} sections`,
    next: 'Split the report into several, or use a shorter e-mail template of your own.',
  });
}
