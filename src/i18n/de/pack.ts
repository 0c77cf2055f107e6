import type { pack as english, pdf as englishPdf } from '../en/pack.ts';
import type { LocaleFormatters } from '../formatters.ts';

const UNITS = {
  day: ['Letzter Tag', 'Tage'],
  week: ['Letzte Woche', 'Wochen'],
  month: ['Letzter Monat', 'Monate'],
} as const;

export const pack = ({ number }: LocaleFormatters): ReturnType<typeof english> => {
  const rows = (count: number): string => `${number(count)} ${count === 1 ? 'Zeile' : 'Zeilen'}`;
  return {
    summary: 'Übersicht',
    trends: 'Verlauf',
    exceptions: 'Ausnahmen',
    appendix: 'Anhang',
    definitions: 'Definitionen',
    howMade: 'Wie dieser Bericht entstanden ist',
    scorecard: {
      metric: 'Kennzahl',
      figure: 'Dieser Zeitraum',
      now: 'Aktuell',
      target: 'Ziel',
      status: 'Status',
      trend: (count, granularity) => {
        if (granularity === undefined) return 'Verlauf';
        const [one, many] = UNITS[granularity];
        return count === 1 ? one : `Letzte ${number(count)} ${many}`;
      },
    },
    value: 'Wert',
    change: 'Veränderung',
    trendText: (label, first, last) =>
      `${label}: zuerst ${first.text} (${first.label}), zuletzt ${last.text} (${last.label})`,
    trendOne: (label, { label: at, text }) => `${label}: ${text} (${at})`,
    trendNone: (label) => `${label}: keine Werte`,
    hatchedMeans: 'Schraffiert: Der Wert umfasst nur einen Teil der Zeit, oder die Zeit läuft noch.',
    targetLineMeans: 'Gestrichelte Linie: das Ziel.',
    bandMeans: 'Graues Band: der übliche Bereich des letzten Werts, aus den zwölf davor.',
    gapsMean: 'Eine Lücke bedeutet, dass es keinen Wert gibt. Sie ist keine Null.',
    target: 'Ziel',
    rowsBehind: (shown, behind, of, notJudged) => {
      const left = notJudged === 0 ? '' : ` ${number(notJudged)} nicht beurteilt.`;
      if (shown < behind)
        return `Die schlechtesten ${number(shown)} von ${rows(behind)} hinter ihrem Ziel; insgesamt ${rows(of)}.${left}`;
      return behind === 1
        ? `1 von ${rows(of)} liegt hinter ihrem Ziel.${left}`
        : `${number(behind)} von ${rows(of)} liegen hinter ihrem Ziel, die schlechtesten zuerst.${left}`;
    },
    nothingBehind: (notJudged) =>
      `Nichts liegt hinter dem Ziel${notJudged === 0 ? '' : `, ${number(notJudged)} nicht beurteilt`}.`,
    noTargetApplies: 'Für diese Zeilen gilt kein Ziel.',
    worstRows: (shown, judged) =>
      judged === 1
        ? 'Die einzige beurteilte Zeile.'
        : `Die schlechtesten ${number(shown)} von ${number(judged)} beurteilten Zeilen.`,
    noText: 'Es gibt keinen Kommentar.',
  };
};

const FILES = { xlsx: 'in der Arbeitsmappe', csv: 'in den CSV-Dateien' } as const;

const allRows = (formats: readonly string[]): string => {
  const files = Object.entries(FILES).flatMap(([format, name]) => (formats.includes(format) ? [name] : []));
  return files.length === 0 ? '' : `Alle Zeilen stehen ${files.join(' und ')}.`;
};

export const pdf = (to: LocaleFormatters): ReturnType<typeof englishPdf> => ({
  allRows,
  firstRows: (shown, all, formats) => {
    const rows = all === 1 ? '1 Zeile' : `${to.number(all)} Zeilen`;
    const first = shown === 0 ? 'Keine' : `Die ersten ${to.number(shown)}`;
    return `${first} von ${rows}: Mehr haben in einem PDF keinen Platz. ${allRows(formats)}`.trim();
  },
  continued: (title) => `${title} (Fortsetzung)`,
  unknownCharacters:
    'Einige Namen enthalten Zeichen, die in den Schriften dieses PDF fehlen. Jedes erscheint als □; die anderen Dateien enthalten sie vollständig.',
});
