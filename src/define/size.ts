import { z } from 'zod';

const SIZE = /^(\d{1,9})\s*(B|KB|MB)?$/i;
const FACTORS: Readonly<Record<string, number>> = { B: 1, KB: 1024, MB: 1024 * 1024 };
const WORDS = 'a size up to 100 MB, e.g. 10MB or 500KB';
const MOST = 100 * 1024 * 1024;

/** `10MB`, `500KB` or bytes → bytes; undefined for anything else. */
export function readSize(text: string): number | undefined {
  const [, digits, unit = 'B'] = SIZE.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  const bytes = Number(digits) * (FACTORS[unit.toUpperCase()] ?? 1);
  return bytes > 0 && bytes <= MOST ? bytes : undefined;
}

export const sizeSchema = z
  .union([z.int().min(1).max(MOST), z.string().refine((text) => readSize(text) !== undefined, WORDS)], { error: WORDS })
  .describe('Bytes, or with a unit: 500KB, 10MB.');

/** The bytes of a size that the schema let pass. */
export const bytesOf = (size: z.infer<typeof sizeSchema>): number =>
  typeof size === 'number' ? size : (readSize(size) ?? MOST);
