export type Paper = 'a4' | 'letter';

/** Regions (ISO 3166) that print on US Letter, after CLDR. */
const LETTER_REGIONS: ReadonlySet<string> = new Set([
  'BZ',
  'CA',
  'CL',
  'CO',
  'CR',
  'GT',
  'MX',
  'NI',
  'PA',
  'PH',
  'PR',
  'SV',
  'US',
  'VE',
]);

/**
 * The paper of a locale's region; A4 without a region.
 * @param locale BCP 47
 */
export const selectPaper = (locale: string): Paper =>
  LETTER_REGIONS.has(new Intl.Locale(locale).region ?? '') ? 'letter' : 'a4';
