import { isFew } from './expected.ts';

// Reads figures from a text like a person. It uses nothing of src/.

/** A number in a text, and the largest distance to the number that it was rounded from. */
export interface Shown {
  readonly value: number;
  readonly off: number;
}

const UNITS: Readonly<Record<string, number>> = {
  s: 1,
  min: 60,
  minutes: 60,
  h: 3_600,
  hours: 3_600,
  d: 86_400,
  days: 86_400,
  day: 86_400,
  hour: 3_600,
  minute: 60,
};

const plainNumber = (text: string): Shown => {
  const digits = text.replaceAll(',', '').replace('−', '-');
  if (!/^[+-]?\d+(\.\d+)?(e-?\d+)?$/i.test(digits)) throw new Error(`no number: "${text}"`);
  return { value: Number(digits), off: 0.500_01 * 10 ** -(digits.split('.')[1]?.length ?? 0) };
};

/** `–` is null. `12.4%` and `3.1 pp` are ratios; `1 d 10 h`, `33.9 h` and `12.4 s` are seconds. `<` and `>` are bounds. */
export function readShown(text: string, unit: string | null): Shown | null {
  if (text === '–') return null;
  const bound = /^[<>]/.test(text) ? 1 : 0;
  const bare = text.replace(/^[<>]/, '');
  if (unit === 'ratio') {
    const { value, off } = plainNumber(bare.replace(/(%| pp)$/, ''));
    if (!/(%| pp)$/.test(bare)) throw new Error(`no percentage: "${text}"`);
    return { value: value / 100, off: (bound === 1 ? 1 : off) / 100 };
  }
  if (unit === 'seconds') {
    const parts = [...bare.replace('−', '-').matchAll(/([+-]?[\d,.]+) ([a-z]+)/g)];
    if (parts.length === 0 || parts.map(([whole]) => whole).join(' ') !== bare.replace('−', '-'))
      throw new Error(`no duration: "${text}"`);
    let value = 0;
    let off = 0;
    for (const [, digits = '', name = ''] of parts) {
      const seconds = UNITS[name];
      if (seconds === undefined) throw new Error(`no unit of time: "${text}"`);
      const part = plainNumber(digits);
      value += part.value * seconds;
      // The smallest part is rounded. If it is the only part, it may be a whole number of a larger unit.
      off =
        parts.length === 1 && !digits.includes('.') && name !== 's' ? (0.500_01 * seconds) / 24 : part.off * seconds;
    }
    return { value, off: Math.max(off, 0.500_01) };
  }
  return plainNumber(bare);
}

/** Whether a text shows this figure. */
export function shows(text: string, figure: number | null, unit: string | null): boolean {
  const shown = readShown(text, unit);
  if (shown === null || figure === null) return shown === null && figure === null;
  return Math.abs(shown.value - figure) <= shown.off + 1e-9;
}

/** Whether a text shows the difference of two figures, each rounded first. */
export function showsDifference(text: string, difference: number, unit: string | null): boolean {
  // Counts are shown as integers.
  if (unit === 'count') return shows(text, difference, unit);
  const shown = readShown(text, unit);
  return shown !== null && Math.abs(shown.value - difference) <= 2 * shown.off + 1e-9;
}

/**
 * Whether a text shows a change: `12%` of a count or a duration, a difference in points or time, or `1,333 times as many`.
 * The sign is not checked.
 */
export function showsChange(text: string, now: number, before: number, unit: string | null): boolean {
  const [, times] = /^([\d,]+) times as (?:many|long|high)$/.exec(text) ?? [];
  if (times !== undefined) return Math.abs(Number(times.replaceAll(',', '')) - now / before) <= 1;
  if (unit === 'ratio' || (unit === 'count' && isFew(now, before)))
    return showsDifference(text, Math.abs(now - before), unit);
  if (text.endsWith('%')) return shows(text, Math.abs((now - before) / before), 'ratio');
  return unit === 'seconds' && showsDifference(text, Math.abs(now - before), unit);
}

/** Raw units per unit of a workbook header. `h:mm:ss` and `days` are days in a cell. */
export function factorOf(unit: string | undefined): number {
  if (unit === undefined || unit === '%') return 1;
  if (unit === 'h:mm:ss') return 86_400;
  const seconds = UNITS[unit];
  if (seconds === undefined) throw new Error(`no unit: "${unit}"`);
  return seconds;
}
