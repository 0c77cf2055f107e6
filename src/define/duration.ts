import { z } from 'zod';

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * Seconds as such, or a number with its unit: `90`, `30s`, `15m`, `1h`, `3d`. Read as seconds, which may be written back.
 * @param words what is expected, for the fault
 * @param least seconds
 * @param most seconds
 */
export function durationSchema(words: string, least: number, most: number) {
  const seconds = z.int(words).min(least, words).max(most, words);
  return z.union(
    [
      seconds,
      z
        .string()
        .regex(/^[0-9]{1,7}[smhd]$/, words)
        .transform((text) => Number.parseInt(text, 10) * (SECONDS[text.slice(-1)] ?? 1))
        .pipe(seconds),
    ],
    { error: words },
  );
}

/** Seconds as a person writes them: `3d`, `90m`, `45s`. */
export function inUnits(seconds: number): string {
  const [unit = 's', size = 1] =
    Object.entries(SECONDS)
      .reverse()
      .find(([, size]) => seconds % size === 0 && seconds >= size) ?? [];
  return `${seconds / size}${unit}`;
}
