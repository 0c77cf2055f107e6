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

/** Gmail truncates HTML at 102 KB. */
export const MAX_HTML_BYTES = 100_000;

const NO_LIMIT = Number.POSITIVE_INFINITY;
/** Tried in order until the HTML is small enough: fewer rows first, then fewer sections. */
const SIZE_BUDGETS: readonly SizeBudget[] = [
  ...[MAX_SUMMARY_ROWS, 7, 5, 3, 0].map((rows) => ({ rows, sections: NO_LIMIT, entries: 12 })),
  ...[30, 15, 7, 3, 0].map((sections) => ({ rows: 0, sections, entries: 6 })),
];

interface RasterizedChart {
  readonly section: string;
  readonly image: InlineImage;
  readonly data: ImageData;
}

async function rasterizeCharts(sections: readonly SummarySection[], locale: string): Promise<RasterizedChart[]> {
  const charts = sections.flatMap((section) =>
    section.chart !== undefined && isRasterizable(section.chart) ? [{ section, chart: section.chart }] : [],
  );
  if (charts.length === 0) return [];
  const rasterize = await loadRasterizer();
  return charts.map(({ section, chart }) => {
    const { id } = section;
    const bytes = rasterize(chart, locale);
    // Derived from the content: the same image has the same id in every attempt.
    const cid = `${id}.${createHash('sha256').update(bytes).digest('hex').slice(0, 24)}@docket`;
    return {
      section: id,
      image: { cid, name: `mail-${id}.png`, bytes },
      data: { cid, alt: chartAltText(chart, locale), note: chartCaption(chart, section, messagesFor(locale)) },
    };
  });
}

/** Adds a note to each section whose chart cannot be drawn. */
const withMissingChartNotes = (summary: EmailSummary, { chart }: Words): EmailSummary => ({
  ...summary,
  sections: summary.sections.map((section) =>
    section.chart === undefined || isRasterizable(section.chart)
      ? section
      : { ...section, notes: [...section.notes, chart.unpaintable] },
  ),
});

/**
 * Renders the two bodies of a report's e-mail from `email/report.mjml` and `email/report.txt.liquid`, and its images. The
 * HTML stays below Gmail's limit: first the sections show fewer rows, then the e-mail shows fewer sections, and says so. The
 * same data gives the same bytes.
 * Throws `template.invalid` with file, line and column, or `render.failed` when even the smallest e-mail is too large.
 */
export async function renderEmail(
  dataset: Dataset,
  artifacts: readonly Artifact[],
  options: EmailOptions,
): Promise<MailBody> {
  const locale = options.locale ?? DEFAULT_LOCALE;
  const [html, text] = [loadTemplate('html', options.templates), loadTemplate('text', options.templates)];
  const summary = withMissingChartNotes(buildSummary({ dataset, locale }), messagesFor(locale));
  const charts = await rasterizeCharts(summary.sections, locale);
  const pictures = new Map(charts.map(({ section, data }) => [section, data]));
  for (const budget of SIZE_BUDGETS) {
    const data = buildTemplateData({ dataset, summary, artifacts, pictures, options }, budget);
    const filled = html.fill(escapeForHtml(data));
    if (Buffer.byteLength(filled) > MAX_HTML_BYTES) continue;
    return {
      html: filled,
      text: text.fill(escapeForText(data)),
      // E-mail clients list an image without a reference as an attachment.
      pictures: charts.map(({ image }) => image).filter(({ cid }) => filled.includes(`cid:${cid}`)),
    };
  }
  throw new DocketError('render.failed', 'The e-mail exceeds the size that Gmail displays.', {
    where: html.file,
    expected: `at most ${MAX_HTML_BYTES.toLocaleString('en')} bytes of HTML`,
    got: `${dataset.tables.length} sections`,
    next: 'Split the report into several, or use a shorter custom template.',
  });
}
