import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { encodePng } from './png.ts';

const resolvePackageFile = createRequire(import.meta.url).resolve;

/** The path of the pictures' font. */
export const pictureFont = (): string => resolvePackageFile('@expo-google-fonts/arimo/400Regular/Arimo_400Regular.ttf');

type ResvgModule = typeof import('@resvg/resvg-wasm');
let resvgModule: Promise<ResvgModule> | undefined;

/** Cached in the module, because `initWasm` may run only once per thread. */
function loadResvg(): Promise<ResvgModule> {
  resvgModule ??= (async () => {
    const resvg = await import('@resvg/resvg-wasm');
    await resvg.initWasm(await readFile(resolvePackageFile('@resvg/resvg-wasm/index_bg.wasm')));
    return resvg;
  })();
  return resvgModule;
}

/**
 * Draws an SVG as PNG, `width` pixels wide. The same SVG always gives the same bytes. `opaque` images have a palette
 * and are a third of the size. Throws what resvg throws.
 */
export type RasterizeSvg = (svg: string, width: number, options: { readonly opaque: boolean }) => Uint8Array;

/** Loads resvg with the Arimo font. No system font is used. */
export async function loadSvgRasterizer(): Promise<RasterizeSvg> {
  const [{ Resvg }, font] = await Promise.all([loadResvg(), readFile(pictureFont())]);
  return (svg, width, { opaque }) => {
    const picture = new Resvg(svg, {
      fitTo: { mode: 'width', value: width },
      font: { fontBuffers: [font], loadSystemFonts: false, defaultFontFamily: 'Arimo' },
    });
    try {
      const image = picture.render();
      try {
        return opaque ? encodePng(image.pixels, image.width, image.height) : image.asPng();
      } finally {
        image.free();
      }
    } finally {
      picture.free();
    }
  };
}
