import { findPeriod } from '../../services/listings/period-words.ts';

/** What somebody typed into the search box. Runs match whose period begins on one of the days that the text names. */
export interface SearchQuery extends ReturnType<typeof findPeriod> {
  /** The first digits of an id; null where the text is none. */
  readonly idPrefix: string | null;
}

/** Hex digits from which a text is taken for the start of an id. */
const MIN_ID_DIGITS = 4;

/** @param now as for `findPeriod` */
export function parseSearch(text: string, now: number): SearchQuery {
  const found = findPeriod(text, now);
  const [only = '', ...others] = found.allWords;
  const isId = others.length === 0 && only.length >= MIN_ID_DIGITS && /^[0-9a-f]{1,32}$/.test(only);
  return { ...found, idPrefix: isId ? only : null };
}
