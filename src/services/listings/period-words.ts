import { DocketError, toDocketError } from '../../base/error.ts';
import { foldText } from '../../base/text/fold.ts';
import { parsePeriod, resolvePeriod } from '../../definitions/periods/period.ts';
import type { DayRange } from '../../run/run-record.ts';

/** Days, with the name of their period. */
export type NamedDays = DayRange & { readonly label: string };

/** A text, separated into the period that it names and the remaining words. */
interface PeriodWords {
  /** The other words, in the form of `foldText`. */
  readonly words: readonly string[];
  /** All words, because a report may be named after a month. */
  readonly allWords: readonly string[];
  /** The days that the text names; null if it names none. */
  readonly period: NamedDays | null;
}

const MONTHS = [
  ['january', 'januar'],
  ['february', 'februar'],
  ['march', 'märz'],
  ['april'],
  ['may', 'mai'],
  ['june', 'juni'],
  ['july', 'juli'],
  ['august'],
  ['september'],
  ['october', 'oktober'],
  ['november'],
  ['december', 'dezember'],
] as const;
const MIN_MONTH_LETTERS = 3;

/** @param now epoch ms; a month, week or quarter without a year is the last one that has begun, by days in UTC */
export function findPeriod(text: string, now: number): PeriodWords {
  const allWords = foldText(text).split(/\s+/).filter(Boolean);
  for (const [index, word] of allWords.entries()) {
    const year = /^\d{4}$/.exec(allWords[index + 1] ?? '')?.[0];
    const period = periodOfWord(word, year, now);
    if (period === undefined) continue;
    const used = year !== undefined && !/\d{4}|_/.test(word) ? 2 : 1;
    return { words: allWords.toSpliced(index, used), allWords, period };
  }
  return { words: allWords, allWords, period: null };
}

/** Parses a period as in `--period`, or a month, week or quarter such as `october`, `w46`. Throws `usage.invalid`. */
export function parseDays(text: string, now: number): NamedDays {
  const { words, period } = findPeriod(text, now);
  if (period !== null && words.length === 0) return period;
  throw new DocketError('usage.invalid', 'Invalid period.', {
    where: 'period',
    expected: 'a period such as 2026-10, october, 2026-W46, 2026-Q3, 2026-11-01..2026-11-15, previous_month',
    got: JSON.stringify(text.slice(0, 80)),
    next: 'Write the period in one of these forms.',
  });
}

function periodOfWord(word: string, year: string | undefined, now: number): NamedDays | undefined {
  const month = parseMonth(word);
  if (month !== undefined) return latest((of) => `${of}-${String(month).padStart(2, '0')}`, year, now);
  const part = /^(?:w(?<week>\d{1,2})|q(?<quarter>[1-4]))$/.exec(word)?.groups;
  if (part?.week !== undefined) return latest((of) => `${of}-W${part.week?.padStart(2, '0')}`, year, now);
  if (part?.quarter !== undefined) return latest((of) => `${of}-Q${part.quarter}`, year, now);
  try {
    return resolveDays(
      word.replace(/[wq]/, (letter) => (/\d/.test(word[0] ?? '') ? letter.toUpperCase() : letter)),
      now,
    );
  } catch (thrown) {
    if (toDocketError(thrown).code === 'usage.invalid') return undefined;
    throw thrown;
  }
}

/** 1 to 12; undefined for other words. */
function parseMonth(typed: string): number | undefined {
  const word = typed.toLowerCase();
  if (word.length < MIN_MONTH_LETTERS) return undefined;
  const index = MONTHS.findIndex((names) =>
    names.some((name) => name === word || (word.length === MIN_MONTH_LETTERS && name.startsWith(word))),
  );
  return index < 0 ? undefined : index + 1;
}

/** The period in this year, or in the last year if it has not begun yet. Undefined if neither year has it (W53). */
function latest(spelling: (year: number) => string, year: string | undefined, now: number): NamedDays | undefined {
  const thisYear = new Date(now).getUTCFullYear();
  const today = new Date(now).toISOString().slice(0, 10);
  const years = year === undefined ? [thisYear, thisYear - 1] : [Number(year)];
  for (const each of years) {
    try {
      const days = resolveDays(spelling(each), now);
      if (year !== undefined || days.from <= today) return days;
    } catch (thrown) {
      if (toDocketError(thrown).code !== 'usage.invalid') throw thrown;
    }
  }
  return undefined;
}

function resolveDays(text: string, now: number): NamedDays {
  const { from, to, label } = resolvePeriod(parsePeriod(text), now, 'UTC');
  return { from, to, label };
}
