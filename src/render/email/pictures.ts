import { createHash } from 'node:crypto';
import { type Logo, readLogo } from '../../definitions/load/logo.ts';
import { messagesFor } from '../../i18n/messages.ts';
import type { InlineImage } from '../artifact.ts';
import { chartAltText } from '../charts/alt-text.ts';
import { loadRasterizer } from '../charts/chart-rasterizer.ts';
import { sparklineSvg } from '../charts/sparkline.ts';
import { loadSvgRasterizer, type RasterizeSvg } from '../charts/svg-rasterizer.ts';
import type { ImageData, SmallChart } from './email-images.ts';
import { chartCaption } from './phrases.ts';
import type { SummarySection } from './summary.ts';

/** A picture, with all that a template needs to show it. */
export interface MailPicture {
  readonly image: InlineImage;
  readonly data: ImageData;
}

/** Pixels of a picture per CSS pixel, for high-resolution screens. */
const DENSITY = 2;

/** The offset of the width in a PNG. The height follows it. */
const PNG_WIDTH_AT = 16;

/**
 * Names a picture by its content: the same image has the same id and name in every attempt. `#` in the name stands for
 * its hash.
 */
function picture(stem: string, name: string, bytes: Uint8Array, texts: Pick<ImageData, 'alt' | 'note'>): MailPicture {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 24);
  const cid = `${stem}.${hash}@docket`;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = (at: number): number => Math.round(view.getUint32(at) / DENSITY);
  const [width, height] = [size(PNG_WIDTH_AT), size(PNG_WIDTH_AT + 4)];
  return { image: { cid, name: name.replace('#', hash), bytes }, data: { cid, ...texts, width, height } };
}

/** The charts of the sections, by section id. */
export async function drawCharts(
  sections: readonly SummarySection[],
  locale: string,
): Promise<ReadonlyMap<string, MailPicture>> {
  const charts = sections.flatMap((section) =>
    section.chart === undefined ? [] : [{ section, chart: section.chart, drawn: section.drawn ?? section.chart }],
  );
  if (charts.length === 0) return new Map();
  const rasterize = await loadRasterizer();
  return new Map(
    charts.map(({ section, chart, drawn }) => [
      section.id,
      picture(section.id, `mail-${section.id}.png`, rasterize(drawn, locale), {
        alt: chartAltText(chart, locale),
        note: chartCaption(chart, section, messagesFor(locale)),
      }),
    ]),
  );
}

/** Readable on white and on the dark background of the e-mail. */
const LINE = '#1f8f88';
const BAND = 'rgba(127,140,155,0.3)';

/** Draws the small charts of the sections' tables, by chart. A chart without any figure has no picture. */
export async function drawSmallCharts(charts: readonly SmallChart[]): Promise<ReadonlyMap<SmallChart, MailPicture>> {
  const drawable = charts.filter(({ points }) => points.some(({ value }) => value !== null));
  if (drawable.length === 0) return new Map();
  const rasterize = await loadSvgRasterizer();
  return new Map(
    drawable.map((chart) => {
      const bytes = rasterize(
        sparklineSvg(chart.points, chart, { line: LINE, last: LINE, band: BAND }),
        DENSITY * chart.width,
        {
          opaque: false,
        },
      );
      return [chart, picture('trend', 'mail-trend-#.png', bytes, { alt: chart.alt, note: '' })];
    }),
  );
}

/** The largest size in an e-mail, in CSS pixels. */
const MAX_LOGO = { width: 160, height: 44 };

/** On its own white background, so that dark letters stay readable in dark mode. */
function logoSvg({ format, bytes }: Logo, width: number, height: number): string {
  const href = `data:image/${format};base64,${bytes.toString('base64')}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><rect width="${width}" height="${height}" fill="#ffffff"/><image width="${width}" height="${height}" href="${href}"/></svg>`;
}

/**
 * The organization's logo, scaled down. Undefined if there is none, or if the file can no longer be drawn: `docket
 * check` reports that, and an e-mail without its logo is better than no e-mail.
 */
export async function drawLogo(
  path: string | undefined,
  organization: string,
  rasterizer: () => Promise<RasterizeSvg> = loadSvgRasterizer,
): Promise<MailPicture | undefined> {
  const logo = path === undefined ? undefined : await readLogo(path);
  if (logo === undefined || !('bytes' in logo)) return undefined;
  const scale = Math.min(1, MAX_LOGO.width / logo.width, MAX_LOGO.height / logo.height);
  const [width, height] = [logo.width, logo.height].map((size) => Math.max(1, Math.round(size * scale)));
  if (width === undefined || height === undefined) return undefined;
  const rasterize = await rasterizer();
  try {
    const bytes = rasterize(logoSvg(logo, width, height), DENSITY * width, { opaque: true });
    return picture('logo', 'mail-logo-#.png', bytes, { alt: organization, note: '' });
  } catch {
    return undefined;
  }
}
