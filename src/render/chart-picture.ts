import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { DocketError } from '../base/error.ts';
import type { Chart } from './chart.ts';
import { chartOption, PICTURE_WIDTH } from './chart-option.ts';
import { encodePng } from './png.ts';

/** As wide as a mail shows a picture, in CSS pixels; the PNG has twice as many, for sharp screens. */
export const SHOWN_WIDTH = 592;

const resolved = createRequire(import.meta.url).resolve;

/** Draws charts as PNG; the same chart makes the same bytes. */
export type Paint = (chart: Chart, locale: string) => Uint8Array;

/** Scripts that the font has no letters of, and emoji: they would be boxes. */
const UNWRITABLE =
  /[^\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Common}\p{Script=Inherited}]|\p{Emoji_Presentation}/u;

/** Whether every name in the chart can be written in the font that the pictures have. */
export const isPaintable = ({ categories, axes }: Chart): boolean =>
  ![...categories, ...axes.flatMap(({ title, series }) => [title, ...series.map(({ name }) => name)])].some((text) =>
    UNWRITABLE.test(text),
  );

/**
 * Loads what draws, once: ECharts for the layout, resvg and the Arimo font (metrics of Arial, which ECharts reckons
 * with where it cannot measure) for the pixels. No font of the machine is used.
 */
export async function loadPainter(): Promise<Paint> {
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
    readFile(resolved('@expo-google-fonts/arimo/400Regular/Arimo_400Regular.ttf')),
  ]);
  echarts.use([BarChart, LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);
  return (chart, locale) => {
    const { option, height } = chartOption(chart, locale);
    const drawing = echarts.init(null, null, { renderer: 'svg', ssr: true, width: PICTURE_WIDTH, height });
    try {
      drawing.setOption(option);
      return toPng(resvg, drawing.renderToSVGString(), font);
    } catch (cause) {
      throw new DocketError('render.failed', `The picture of the chart “${chart.title}” could not be drawn.`, {
        next: 'This is a defect of Docket: please report it. Without `chart:` in the section, the report can be made.',
        cause,
      });
    } finally {
      drawing.dispose();
    }
  };
}

type ResvgModule = typeof import('@resvg/resvg-wasm');
let started: Promise<ResvgModule> | undefined;

/** The module can be given its WebAssembly only once in a process; hence this one memory. */
function loadResvg(): Promise<ResvgModule> {
  started ??= (async () => {
    const resvg = await import('@resvg/resvg-wasm');
    await resvg.initWasm(await readFile(resolved('@resvg/resvg-wasm/index_bg.wasm')));
    return resvg;
  })();
  return started;
}

function toPng({ Resvg }: ResvgModule, svg: string, font: Uint8Array): Uint8Array {
  const picture = new Resvg(svg, {
    fitTo: { mode: 'width', value: 2 * SHOWN_WIDTH },
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
