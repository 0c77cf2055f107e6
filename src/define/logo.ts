import { readFile, realpath, stat } from 'node:fs/promises';
import { sep } from 'node:path';
import { codeOf } from './read-file.ts';

/** A logo is in every pack and every mail that carries one. */
export const MAX_LOGO_BYTES = 512 * 1024;
const MAX_PIXELS = 4096;

export interface Picture {
  readonly format: 'png' | 'jpeg';
  /** Pixels. */
  readonly width: number;
  readonly height: number;
}

export interface Logo extends Picture {
  readonly bytes: Buffer;
}

/** Why a file cannot be a logo, in the words of a fault. */
export interface NoLogo {
  readonly expected: string;
  readonly got: string;
  readonly next: string;
}

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Markers of JPEG that begin a frame, where the size stands: SOF0 to SOF15 without DHT, JPG and DAC. */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

function jpegSize(bytes: Buffer): { width: number; height: number } | undefined {
  let at = 2;
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    // Fill bytes may stand before a marker.
    if (marker === 0xff) at += 1;
    else if (isFrame(marker)) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    else at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

/** What the first bytes of a PNG or JPEG say; undefined for anything else. */
export function pictureOf(bytes: Buffer): Picture | undefined {
  if (bytes.subarray(0, 8).equals(PNG) && bytes.length >= 33 && bytes.toString('latin1', 12, 16) === 'IHDR') {
    return { format: 'png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  }
  const size = bytes[0] === 0xff && bytes[1] === 0xd8 ? jpegSize(bytes) : undefined;
  return size === undefined ? undefined : { format: 'jpeg', ...size };
}

const picture = 'a PNG or JPEG file';

/**
 * Reads a logo, or says why it is none: where it is, size (seen before it is read), kind, extent.
 * @param root the real path that it must be inside of, so that a report shows nothing else of the machine
 */
export async function readLogo(file: string, root?: string): Promise<Logo | NoLogo> {
  let bytes: Buffer;
  try {
    const real = await realpath(file);
    if (root !== undefined && !real.startsWith(root + sep)) {
      return {
        expected: `${picture} in the folder of the organization`,
        got: 'one outside of it',
        next: 'copy it there',
      };
    }
    const found = await stat(real);
    if (!found.isFile()) return { expected: picture, got: 'something else', next: 'correct the path' };
    if (found.size > MAX_LOGO_BYTES) return tooLarge(found.size);
    bytes = await readFile(real);
  } catch (error) {
    return { expected: `${picture} that can be read`, got: codeOf(error), next: 'correct the path or its permissions' };
  }
  if (bytes.length > MAX_LOGO_BYTES) return tooLarge(bytes.length);
  const found = pictureOf(bytes);
  if (found === undefined) return { expected: picture, got: 'another kind of file', next: 'save it as PNG' };
  const { width, height } = found;
  if (width < 1 || height < 1 || width > MAX_PIXELS || height > MAX_PIXELS) {
    const got = `${width} × ${height}`;
    return { expected: `at most ${MAX_PIXELS} pixels a side`, got, next: 'save it smaller' };
  }
  return { ...found, bytes };
}

const tooLarge = (size: number): NoLogo => ({
  expected: `at most ${MAX_LOGO_BYTES} bytes`,
  got: `${size} bytes`,
  next: 'save it smaller',
});
