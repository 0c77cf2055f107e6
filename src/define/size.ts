import { z } from 'zod';

const SIZE_PATTERN = /^(\d{1,9})\s*(B|KB|MB)?$/i;
const SIZE_UNITS: Readonly<Record<string, number>> = { B: 1, KB: 1024, MB: 1024 * 1024 };
const SIZE_DESCRIPTION = 'a size up to 100 MB, e.g. 10MB or 500KB';
const MAX_SIZE_BYTES = 100 * 1024 * 1024;

/** `10MB`, `500KB` or bytes → bytes; undefined for anything else. */
export function parseSize(text: string): number | undefined {
  const [, digits, unit = 'B'] = SIZE_PATTERN.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  const bytes = Number(digits) * (SIZE_UNITS[unit.toUpperCase()] ?? 1);
  return bytes > 0 && bytes <= MAX_SIZE_BYTES ? bytes : undefined;
}

export const sizeSchema = z
  .union(
    [z.int().min(1).max(MAX_SIZE_BYTES), z.string().refine((text) => parseSize(text) !== undefined, SIZE_DESCRIPTION)],
    { error: SIZE_DESCRIPTION },
  )
  .describe('Bytes, or with a unit: 500KB, 10MB.');

/** The bytes of a size that the schema let pass. */
export const bytesOf = (size: z.infer<typeof sizeSchema>): number =>
  typeof size === 'number' ? size : (parseSize(size) ?? MAX_SIZE_BYTES);
