import { crc32, deflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** As many colours as one byte can name. */
const PALETTE = 256;

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

/** The colours of an opaque picture in the order in which they occur; undefined when they are too many to be named. */
function paletteOf(pixels: Uint8Array): Map<number, number> | undefined {
  const palette = new Map<number, number>();
  for (let at = 0; at < pixels.length; at += 4) {
    const colour = colourAt(pixels, at);
    if (palette.has(colour)) continue;
    if (palette.size === PALETTE) return undefined;
    palette.set(colour, palette.size);
  }
  return palette;
}

const colourAt = (pixels: Uint8Array, at: number): number =>
  ((pixels[at] ?? 0) << 16) | ((pixels[at + 1] ?? 0) << 8) | (pixels[at + 2] ?? 0);

const bytesOf = (colour: number): readonly number[] => [colour >> 16, (colour >> 8) & 0xff, colour & 0xff];

/**
 * An opaque picture as PNG, small: a chart has few colours and long runs of them, so that a byte a pixel without
 * filters takes a third of what a general encoder makes of it.
 * @param pixels RGBA, row by row; the alpha is not looked at
 */
export function encodePng(pixels: Uint8Array, width: number, height: number): Uint8Array {
  const palette = paletteOf(pixels);
  const perPixel = palette === undefined ? 3 : 1;
  // Each row begins with its filter, which is 0: none.
  const rows = Buffer.alloc(height * (1 + width * perPixel));
  let to = 0;
  for (let at = 0; at < pixels.length; at += 4) {
    if (at % (width * 4) === 0) to += 1;
    const colour = colourAt(pixels, at);
    if (palette !== undefined) rows[to++] = palette.get(colour) ?? 0;
    else for (const byte of bytesOf(colour)) rows[to++] = byte;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8;
  header[9] = palette === undefined ? 2 : 3;
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    ...(palette === undefined ? [] : [chunk('PLTE', Uint8Array.from([...palette.keys()].flatMap(bytesOf)))]),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', new Uint8Array()),
  ]);
}
