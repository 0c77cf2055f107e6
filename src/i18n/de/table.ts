import type { table as english } from '../en/table.ts';
import { germanQuotes, type LocaleFormatters } from '../formatters.ts';

export const table = (to: LocaleFormatters): ReturnType<typeof english> => {
  const quoted = germanQuotes(to);
  return {
    yes: 'ja',
    no: 'nein',
    total: 'Gesamt',
    fromTo: (from, last) => `${from} bis ${last}`,
    fiscal: (year, quarter) => `GJ${year}${quarter === undefined ? '' : `-Q${quarter}`}`,
    stillRunning: 'läuft noch',
    previousPeriod: 'Vorperiode',
    bucket: { day: 'Tag', week: 'Woche ab', month: 'Monat' },
    isoWeek: 'Kalenderwoche',
    weekFrom: (week, first) => `${week} (ab ${first})`,
    previous: (header) => `${header}, Vorperiode`,
    change: (label) => `${label}, Veränderung`,
    points: 'PP',
    days: 'Tage',
    rawRatio: 'Anteil 0–1',
    incomplete: (note) => `Unvollständig: ${note}`,

    filterIs: (label, values) => `${label} ist ${to.any(values)}`,
    filterIsNot: (label, values) =>
      values.length < 2
        ? `${label} ist nicht ${values.join('')}`
        : `${label} ist weder ${values.slice(0, -1).join(', ')} noch ${values.at(-1)}`,
    search: (text) => `Suche: ${text}`,
    onlyWhere: (filters) => `Gefiltert: ${filters.join(' und ')}.`,
    currentCounts: (asOf) =>
      `Aktueller Bestand${asOf === undefined ? '' : `, Stand: ${asOf}`}. Der Berichtszeitraum gilt dafür nicht.`,
    sumsOfCalls: (cells, totals) =>
      [
        ...(cells.length === 0
          ? []
          : [`Werte von ${cells.join(', ')} sind Summen dessen, was der Dienst auf mehrere Abrufe geantwortet hat.`]),
        ...(totals.length === 0
          ? []
          : [`Gesamtwerte von ${totals.join(', ')} sind Summen der Gesamtwerte mehrerer Abrufe des Dienstes.`]),
      ].join(' '),
    noCounts: 'Keine Zeilen: Die Zahlen dieses Abschnitts sind nicht definiert.',
    covers: (range) => range,
    coversCompared: (range, other) =>
      `${range}, verglichen mit ${other ?? 'der Vorperiode (ihre Tage sind nicht bekannt)'}`,
    computed: (covers, at) => `${covers}${at === undefined ? '' : `. Stand: ${at}`}.`,

    undefinedMeans: (dash) =>
      `${quoted(dash)} bedeutet: nicht definiert, etwa eine Quote oder ein Median ohne zugrunde liegende Fälle oder eine Veränderung gegenüber null. Es bedeutet nicht null.`,
    emptyMeans: (dash) => `${quoted(dash)} in einem Namen oder Feld bedeutet, dass kein Wert vorhanden ist.`,
    italicsMean: 'Kursive Zeilen betreffen einen Zeitraum, der noch läuft; ihre Zahlen ändern sich noch.',
    totalsMean:
      'Gesamtwerte berechnet der Dienst, nie aus den Zeilen. Wo sie Summen mehrerer Abrufe sind, nennt sie der Abschnitt.',

    schema: {
      running: 'Läuft noch',
      runningMeans: 'Ob die Zeile einen Zeitraum betrifft, der noch läuft; ihre Zahlen ändern sich noch.',
      previous: 'Der Wert der Vorperiode',
      countsAt: (when) => `Gezählt bei: ${when}`,
      aggregation: (name) => `Aggregation: ${name}`,
      availableFrom: (day) => `Verfügbar ab ${to.day(day)}; frühere Werte stehen auf null und werden nicht verglichen`,
      firstDay: 'Der erste Tag',
      emptyField: 'Ein leeres Feld',
      undefinedMeans: (nothing) =>
        `${nothing} bedeutet: nicht definiert, etwa eine Quote oder ein Median ohne zugrunde liegende Fälle. Es bedeutet nicht null`,
      emptyMeans: (nothing) => `${nothing} bedeutet: kein Wert vorhanden`,
      name: (id) => `Name beim Dienst: ${id}`,
    },
  };
};
