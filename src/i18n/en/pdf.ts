import { englishCounter, type LocaleFormatters } from '../formatters.ts';

/** Where all rows are, by output format. */
const FILES = { xlsx: 'the workbook', csv: 'the CSV files' } as const;

/** Texts of the PDF that no other format has. */
export const pdf = (to: LocaleFormatters) => {
  const counted = englishCounter(to);
  return {
    /** Below rows that are not all there are. @param formats of the report's outputs */
    firstRows: (shown: number, all: number, formats: readonly string[]) => {
      const files = Object.entries(FILES).flatMap(([format, name]) => (formats.includes(format) ? [name] : []));
      const rest = files.length === 0 ? '' : ` All rows are in ${files.join(' and ')}.`;
      return `${shown === 0 ? 'None' : `The first ${to.number(shown)}`} of ${counted(all, 'row')}: a PDF has no room for more.${rest}`;
    },
    /** Of characters that no font of the PDF has. */
    unknownCharacters:
      'Some names have characters that the fonts of this PDF lack. Each is shown as □; the other files have them in full.',
  };
};
