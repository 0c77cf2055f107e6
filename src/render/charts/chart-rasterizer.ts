import { readFileSync } from 'node:fs';
import { DocketError } from '../../base/error.ts';
import type { Chart } from './chart.ts';
import { CHART_WIDTH, echartsOption } from './echarts-option.ts';
import { displayable, glyphCoverage, showsInFull } from './font-coverage.ts';
import { loadSvgRasterizer, pictureFont } from './svg-rasterizer.ts';

/** Displayed width in an e-mail, in CSS pixels. The PNG has twice as many, for high-resolution screens. */
export const IMAGE_WIDTH = 592;

/** Draws a chart as PNG. The same chart always gives the same bytes. Throws `render.failed`. */
export type RasterizeChart = (chart: Chart, locale: string) => Uint8Array;

const pictureCoverage = () => glyphCoverage([readFileSync(pictureFont())]);

/**
 * Creates a check whether the pictures' font has all glyphs of a text. It reads the font, so create it once for many
 * texts.
 */
export function createPaintable(): (text: string) => boolean {
  const covers = pictureCoverage();
  return (text) => showsInFull(text, covers);
}

/**
 * Loads ECharts for the layout, and resvg with the Arimo font for the pixels. Without a browser, ECharts assumes the
 * metrics of Arial, which Arimo shares. No system font is used.
 */
export async function loadRasterizer(): Promise<RasterizeChart> {
  const [echarts, rasterize] = await Promise.all([import('./echarts.ts'), loadSvgRasterizer()]);
  const covers = pictureCoverage();
  return (chart, locale) => {
    const { option, height } = echartsOption(displayable(chart, covers), locale);
    const drawing = echarts.init(null, null, { renderer: 'svg', ssr: true, width: CHART_WIDTH, height });
    try {
      drawing.setOption(option);
      return rasterize(drawing.renderToSVGString(), 2 * IMAGE_WIDTH, { opaque: true });
    } catch (cause) {
      throw new DocketError('render.failed', `The chart “${chart.title}” could not be drawn.`, {
        next: 'Report this as a defect of Docket. Remove `chart:` from the section to run the report without it.',
        cause,
      });
    } finally {
      drawing.dispose();
    }
  };
}
