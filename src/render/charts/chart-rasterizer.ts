import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { DocketError } from '../../base/error.ts';
import type { Chart } from './chart.ts';
import { CHART_WIDTH, echartsOption } from './echarts-option.ts';
import { encodePng } from './png.ts';

/** Displayed width in an e-mail, in CSS pixels. The PNG has twice as many pixels for high-resolution screens. */
export const IMAGE_WIDTH = 592;

const resolvePackageFile = createRequire(import.meta.url).resolve;

/** Draws a chart as PNG. The same chart gives the same bytes. Throws `render.failed`. */
export type RasterizeChart = (chart: Chart, locale: string) => Uint8Array;

/** Scripts and emoji without glyphs in the font. */
const UNSUPPORTED_GLYPHS =
  /[^\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Common}\p{Script=Inherited}]|\p{Emoji_Presentation}/u;

/** Whether the font has glyphs for every name in the chart. */
export const isRasterizable = ({ categories, axes }: Chart): boolean =>
  ![...categories, ...axes.flatMap(({ title, series }) => [title, ...series.map(({ name }) => name)])].some((text) =>
    UNSUPPORTED_GLYPHS.test(text),
  );

/**
 * Loads ECharts for the layout, and resvg with the Arimo font for the pixels. Without a browser ECharts assumes the metrics
 * of Arial, which Arimo has. No system font is used.
 */
export async function loadRasterizer(): Promise<RasterizeChart> {
  const [
    echarts,
    { BarChart, LineChart },
    { GridComponent, LegendComponent, TitleComponent },
    { SVGRenderer },
    resvg,
    font,
  ] = await Promise.all([
    import('echarts/core'),
    import('echarts/charts'),
    import('echarts/components'),
    import('echarts/renderers'),
    loadResvg(),
    readFile(resolvePackageFile('@expo-google-fonts/arimo/400Regular/Arimo_400Regular.ttf')),
  ]);
  echarts.use([BarChart, LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);
  return (chart, locale) => {
    const { option, height } = echartsOption(chart, locale);
    const drawing = echarts.init(null, null, { renderer: 'svg', ssr: true, width: CHART_WIDTH, height });
    try {
      drawing.setOption(option);
      return svgToPng(resvg, drawing.renderToSVGString(), font);
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

type ResvgModule = typeof import('@resvg/resvg-wasm');
let resvgModule: Promise<ResvgModule> | undefined;

/** Cached in the module: `initWasm` may run only once per thread. */
function loadResvg(): Promise<ResvgModule> {
  resvgModule ??= (async () => {
    const resvg = await import('@resvg/resvg-wasm');
    await resvg.initWasm(await readFile(resolvePackageFile('@resvg/resvg-wasm/index_bg.wasm')));
    return resvg;
  })();
  return resvgModule;
}

function svgToPng({ Resvg }: ResvgModule, svg: string, font: Uint8Array): Uint8Array {
  const picture = new Resvg(svg, {
    fitTo: { mode: 'width', value: 2 * IMAGE_WIDTH },
    font: { fontBuffers: [font], loadSystemFonts: false, defaultFontFamily: 'Arimo' },
  });
  try {
    const image = picture.render();
    try {
      return encodePng(image.pixels, image.width, image.height);
    } finally {
      image.free();
    }
  } finally {
    picture.free();
  }
}
