import type { LocaleFormatters } from '../formats.ts';

/** „…“, in Switzerland and Liechtenstein «…». */
export const germanQuotes =
  ({ region }: Pick<LocaleFormatters, 'region'>) =>
  (text: string): string =>
    region === 'CH' || region === 'LI' ? `«${text}»` : `„${text}“`;
