import { DocketError } from '../../base/error.ts';
import type { Chart } from './chart.ts';
import { CHART_WIDTH, echartsOption } from './echarts-option.ts';
import { loadSvgRasterizer } from './svg-rasterizer.ts';

/** Displayed width in an e-mail, in CSS pixels. The PNG has twice as many pixels for high-resolution screens. */
export const IMAGE_WIDTH = 592;

/** Draws a chart as PNG. The same chart gives the same bytes. Throws `render.failed`. */
export type RasterizeChart = (chart: Chart, locale: string) => Uint8Array;

/** Scripts and emoji without glyphs in the font. */
const UNSUPPORTED_GLYPHS =
  /[^\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Common}\p{Script=Inherited}]|\p{Emoji_Presentation}/u;

/** Whether the font has glyphs for a text. */
export const isPaintable = (text: string): boolean => !UNSUPPORTED_GLYPHS.test(text);

/** A chart without characters that the font does not have: codes stand for its names already. */
function paintableChart(chart: Chart): Chart {
  const shown = (text: string) => text.replace(new RegExp(UNSUPPORTED_GLYPHS, 'gu'), '□');
  return {
    ...chart,
    categories: chart.categories.map(shown),
    axes: chart.axes.map((axis) => ({
      ...axis,
      title: shown(axis.title),
      series: axis.series.map((series) => ({ ...series, name: shown(series.name) })),
    })),
  };
}

/**
 * Loads ECharts for the layout, and resvg with the Arimo font for the pixels. Without a browser ECharts assumes the metrics
 * of Arial, which Arimo has. No system font is used.
 */
export async function loadRasterizer(): Promise<RasterizeChart> {
  const [echarts, rasterize] = await Promise.all([import('./echarts.ts'), loadSvgRasterizer()]);
  return (chart, locale) => {
    const { option, height } = echartsOption(paintableChart(chart), locale);
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
