import { englishCounter, type LocaleFormatters } from '../formatters.ts';

/** Where all rows are, by output format. */
const FILES = { xlsx: 'the workbook', csv: 'the CSV files' } as const;

/** Texts of the PDF that no other format has. */
export const pdf = (to: LocaleFormatters) => {
  const counted = englishCounter(to);
  /** @param formats of the report's outputs */
  const allRows = (formats: readonly string[]): string => {
    const files = Object.entries(FILES).flatMap(([format, name]) => (formats.includes(format) ? [name] : []));
    return files.length === 0 ? '' : `All rows are in ${files.join(' and ')}.`;
  };
  return {
    /** Beside the first rows; empty where no file has the others. */
    allRows,
    /** Below rows that are not all there are. @param formats of the report's outputs */
    firstRows: (shown: number, all: number, formats: readonly string[]) => {
      const first = shown === 0 ? 'None' : `The first ${to.number(shown)}`;
      return `${first} of ${counted(all, 'row')}: a PDF has no room for more. ${allRows(formats)}`.trim();
    },
    /** Of characters that no font of the PDF has. */
    unknownCharacters:
      'Some names have characters that the fonts of this PDF lack. Each is shown as □; the other files have them in full.',
  };
};
