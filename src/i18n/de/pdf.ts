import type { pdf as english } from '../en/pdf.ts';
import type { LocaleFormatters } from '../formatters.ts';

const FILES = { xlsx: 'in der Arbeitsmappe', csv: 'in den CSV-Dateien' } as const;

const allRows = (formats: readonly string[]): string => {
  const files = Object.entries(FILES).flatMap(([format, name]) => (formats.includes(format) ? [name] : []));
  return files.length === 0 ? '' : `Alle Zeilen stehen ${files.join(' und ')}.`;
};

export const pdf = (to: LocaleFormatters): ReturnType<typeof english> => ({
  allRows,
  firstRows: (shown, all, formats) => {
    const rows = all === 1 ? '1 Zeile' : `${to.number(all)} Zeilen`;
    const first = shown === 0 ? 'Keine' : `Die ersten ${to.number(shown)}`;
    return `${first} von ${rows}: Mehr haben in einem PDF keinen Platz. ${allRows(formats)}`.trim();
  },
  unknownCharacters:
    'Einige Namen enthalten Zeichen, die in den Schriften dieses PDF fehlen. Jedes erscheint als □; die anderen Dateien enthalten sie vollständig.',
});
