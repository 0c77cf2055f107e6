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

/**
 * The place of each colour of an opaque picture in its palette: the most frequent ones have one of their own, the few
 * beyond them (shades at the edges of lines) that of the nearest.
 */
function paletteOf(pixels: Uint8Array): { readonly colours: readonly number[]; readonly places: Map<number, number> } {
  const counts = new Map<number, number>();
  // Most pixels have the colour of the one before: runs are counted, not pixels.
  for (let at = 0; at < pixels.length; ) {
    const colour = colourAt(pixels, at);
    const start = at;
    while (at < pixels.length && colourAt(pixels, at) === colour) at += 4;
    counts.set(colour, (counts.get(colour) ?? 0) + at - start);
  }
  const colours = [...counts.keys()].sort(
    (one, other) => (counts.get(other) ?? 0) - (counts.get(one) ?? 0) || one - other,
  );
  const kept = colours.slice(0, PALETTE);
  const places = new Map(kept.map((colour, place) => [colour, place]));
  for (const colour of colours.slice(PALETTE)) places.set(colour, nearest(colour, kept));
  return { colours: kept, places };
}

function nearest(colour: number, colours: readonly number[]): number {
  const wanted = bytesOf(colour);
  const distances = colours.map((each) =>
    bytesOf(each).reduce((sum, byte, channel) => sum + (byte - (wanted[channel] ?? 0)) ** 2, 0),
  );
  return distances.indexOf(Math.min(...distances));
}

const colourAt = (pixels: Uint8Array, at: number): number =>
  ((pixels[at] ?? 0) << 16) | ((pixels[at + 1] ?? 0) << 8) | (pixels[at + 2] ?? 0);

const bytesOf = (colour: number): readonly number[] => [colour >> 16, (colour >> 8) & 0xff, colour & 0xff];

/**
 * An opaque picture as PNG, small: a chart has few colours and long runs of them, so that a byte a pixel without
 * filters takes a third of what an encoder for photographs makes of it.
 * @param pixels RGBA, row by row; the alpha is not looked at
 */
export function encodePng(pixels: Uint8Array, width: number, height: number): Uint8Array {
  const { colours, places } = paletteOf(pixels);
  // Each row begins with its filter, which is 0: none.
  const rows = Buffer.alloc(height * (1 + width));
  let [last, place] = [-1, 0];
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < width; column += 1) {
      const colour = colourAt(pixels, 4 * (row * width + column));
      if (colour !== last) [last, place] = [colour, places.get(colour) ?? 0];
      rows[row * (1 + width) + 1 + column] = place;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8; // bits of a place in the palette
  header[9] = 3; // colours by their place
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', Uint8Array.from(colours.flatMap(bytesOf))),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', new Uint8Array()),
  ]);
}
