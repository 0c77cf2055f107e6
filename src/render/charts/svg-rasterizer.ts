import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { crc32, deflateSync } from 'node:zlib';

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

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** A pixel takes one byte. */
const MAX_PALETTE_SIZE = 256;

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

/**
 * The palette of an opaque image: its most frequent colours, and an index for every colour. The other colours, shades
 * at the edges of lines, get the index of the nearest one.
 */
function paletteOf(pixels: Uint8Array): { readonly colours: readonly number[]; readonly indexes: Map<number, number> } {
  const counts = new Map<number, number>();
  // Counts runs instead of pixels, because most pixels have the same colour as the one before.
  for (let at = 0; at < pixels.length; ) {
    const colour = colourAtOffset(pixels, at);
    const start = at;
    while (at < pixels.length && colourAtOffset(pixels, at) === colour) at += 4;
    counts.set(colour, (counts.get(colour) ?? 0) + at - start);
  }
  const colours = [...counts.keys()].sort(
    (one, other) => (counts.get(other) ?? 0) - (counts.get(one) ?? 0) || one - other,
  );
  const palette = colours.slice(0, MAX_PALETTE_SIZE);
  const indexes = new Map(palette.map((colour, index) => [colour, index]));
  for (const colour of colours.slice(MAX_PALETTE_SIZE)) indexes.set(colour, nearest(colour, palette));
  return { colours: palette, indexes };
}

function nearest(colour: number, colours: readonly number[]): number {
  const wanted = bytesOf(colour);
  const distances = colours.map((each) =>
    bytesOf(each).reduce((sum, byte, channel) => sum + (byte - (wanted[channel] ?? 0)) ** 2, 0),
  );
  return distances.indexOf(Math.min(...distances));
}

const colourAtOffset = (pixels: Uint8Array, at: number): number =>
  ((pixels[at] ?? 0) << 16) | ((pixels[at + 1] ?? 0) << 8) | (pixels[at + 2] ?? 0);

const bytesOf = (colour: number): readonly number[] => [colour >> 16, (colour >> 8) & 0xff, colour & 0xff];

/**
 * Encodes an opaque image as PNG with a palette and without filters. A chart has few colours in long runs, so the file
 * is a third of the size of resvg's own RGBA encoding.
 * @param pixels RGBA, row by row; alpha is ignored
 */
export function encodePng(pixels: Uint8Array, width: number, height: number): Uint8Array {
  const { colours, indexes } = paletteOf(pixels);
  // Each row starts with its filter type; 0 means no filter.
  const rows = Buffer.alloc(height * (1 + width));
  let [lastColour, paletteIndex] = [-1, 0];
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < width; column += 1) {
      const colour = colourAtOffset(pixels, 4 * (row * width + column));
      if (colour !== lastColour) [lastColour, paletteIndex] = [colour, indexes.get(colour) ?? 0];
      rows[row * (1 + width) + 1 + column] = paletteIndex;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8; // bit depth
  header[9] = 3; // colour type: indexed
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', Uint8Array.from(colours.flatMap(bytesOf))),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', new Uint8Array()),
  ]);
}
