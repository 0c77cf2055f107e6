import { remembered } from './remembered.ts';

/** Languages, zones and shapes of one deployment; each format takes some kilobytes. */
const MOST = 500;

/** `Intl.DateTimeFormat`, made once: to make one takes as long as a hundred dates. */
export const dateFormat = remembered(
  (locale: string, options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, options),
  MOST,
);

/** `Intl.NumberFormat`, made once. */
export const numberFormat = remembered(
  (locale: string, options: Intl.NumberFormatOptions = {}) => new Intl.NumberFormat(locale, options),
  MOST,
);
