import { memoize } from '../memoize.ts';

/** Most combinations of locale and options to keep. Each takes some kilobytes. */
const MAX_CACHED_FORMATS = 500;

/** Cached `Intl.DateTimeFormat`: creating one takes as long as formatting a hundred dates. */
export const intlDateTimeFormat = memoize(
  (locale: string, options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, options),
  MAX_CACHED_FORMATS,
);

/** Cached `Intl.NumberFormat`, which writes no minus before a zero. */
export const intlNumberFormat = memoize(
  (locale: string, options: Intl.NumberFormatOptions = {}) =>
    new Intl.NumberFormat(locale, { signDisplay: 'negative', ...options }),
  MAX_CACHED_FORMATS,
);
