import type { pdf as english } from '../en/pdf.ts';
import type { LocaleFormatters } from '../formatters.ts';

const FILES = { xlsx: 'in der Arbeitsmappe', csv: 'in den CSV-Dateien' } as const;

export const pdf = (to: LocaleFormatters): ReturnType<typeof english> => ({
  firstRows: (shown, all, formats) => {
    const files = Object.entries(FILES).flatMap(([format, name]) => (formats.includes(format) ? [name] : []));
    const rest = files.length === 0 ? '' : ` Alle Zeilen stehen ${files.join(' und ')}.`;
    const rows = all === 1 ? '1 Zeile' : `${to.number(all)} Zeilen`;
    return `${shown === 0 ? 'Keine' : `Die ersten ${to.number(shown)}`} von ${rows}: Mehr haben in einem PDF keinen Platz.${rest}`;
  },
  unknownCharacters:
    'Einige Namen enthalten Zeichen, die in den Schriften dieses PDF fehlen. Jedes erscheint als □; die anderen Dateien enthalten sie vollständig.',
});
