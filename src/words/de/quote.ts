import type { Formats } from '../formats.ts';

/** „…“, in Switzerland and Liechtenstein «…». */
export const quoter =
  ({ region }: Pick<Formats, 'region'>) =>
  (text: string): string =>
    region === 'CH' || region === 'LI' ? `«${text}»` : `„${text}“`;
