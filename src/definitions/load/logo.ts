import { readFile, realpath, stat } from 'node:fs/promises';
import { sep } from 'node:path';
import type { DiagnosticText } from '../diagnostics/diagnostic.ts';
import { errnoText } from './files.ts';

/** Small, because every workbook and its e-mail contain the logo. */
export const MAX_LOGO_BYTES = 512 * 1024;
const MAX_PIXELS = 4096;

export interface ImageInfo {
  readonly format: 'png' | 'jpeg';
  /** In pixels. */
  readonly width: number;
  readonly height: number;
}

export interface Logo extends ImageInfo {
  readonly bytes: Buffer;
}

/** Why a file cannot be a logo, as text for a diagnostic. */
export type InvalidLogo = Omit<DiagnosticText, 'message'>;

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Whether a JPEG marker begins a frame, which contains the size: SOF0 to SOF15, except DHT, JPG and DAC. */
const isFrameMarker = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

function jpegSize(bytes: Buffer): { width: number; height: number } | undefined {
  let at = 2;
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    // Fill bytes may precede a marker.
    if (marker === 0xff) at += 1;
    else if (isFrameMarker(marker)) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    else at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

/** Reads format and size from the first bytes of a PNG or JPEG; undefined for anything else. */
export function readImageInfo(bytes: Buffer): ImageInfo | undefined {
  if (bytes.subarray(0, 8).equals(PNG) && bytes.length >= 33 && bytes.toString('latin1', 12, 16) === 'IHDR') {
    return { format: 'png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  }
  const size = bytes[0] === 0xff && bytes[1] === 0xd8 ? jpegSize(bytes) : undefined;
  return size === undefined ? undefined : { format: 'jpeg', ...size };
}

const LOGO_DESCRIPTION = 'a PNG or JPEG file';

/**
 * Reads a logo, or returns why it is invalid: its location, size (checked before reading), kind or dimensions.
 * @param root real path that must contain the file, so that a report cannot show other images on the machine
 */
export async function readLogo(file: string, root?: string): Promise<Logo | InvalidLogo> {
  let bytes: Buffer;
  try {
    const real = await realpath(file);
    if (root !== undefined && !real.startsWith(root + sep)) {
      return {
        expected: `${LOGO_DESCRIPTION} in the folder of the organization`,
        got: 'a file outside of it',
        next: 'copy it there',
      };
    }
    const found = await stat(real);
    if (!found.isFile()) return { expected: LOGO_DESCRIPTION, got: 'something else', next: 'correct the path' };
    if (found.size > MAX_LOGO_BYTES) return tooLarge(found.size);
    bytes = await readFile(real);
  } catch (error) {
    return {
      expected: `${LOGO_DESCRIPTION} that can be read`,
      got: errnoText(error),
      next: 'correct the path or its permissions',
    };
  }
  if (bytes.length > MAX_LOGO_BYTES) return tooLarge(bytes.length);
  const found = readImageInfo(bytes);
  if (found === undefined) return { expected: LOGO_DESCRIPTION, got: 'another kind of file', next: 'save it as PNG' };
  const { width, height } = found;
  if (width < 1 || height < 1 || width > MAX_PIXELS || height > MAX_PIXELS) {
    const got = `${width} × ${height}`;
    return { expected: `at most ${MAX_PIXELS} pixels a side`, got, next: 'save it smaller' };
  }
  return { ...found, bytes };
}

const tooLarge = (size: number): InvalidLogo => ({
  expected: `at most ${MAX_LOGO_BYTES} bytes`,
  got: `${size} bytes`,
  next: 'save it smaller',
});
