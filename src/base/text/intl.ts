import { memoize } from '../memoize.ts';

/** Languages, zones and shapes of one deployment; each format takes some kilobytes. */
const MAX_CACHED_FORMATS = 500;

/** `Intl.DateTimeFormat`, made once: to make one takes as long as a hundred dates. */
export const intlDateTimeFormat = memoize(
  (locale: string, options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, options),
  MAX_CACHED_FORMATS,
);

/** `Intl.NumberFormat`, made once. */
export const intlNumberFormat = memoize(
  (locale: string, options: Intl.NumberFormatOptions = {}) => new Intl.NumberFormat(locale, options),
  MAX_CACHED_FORMATS,
);
