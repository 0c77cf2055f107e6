import type { table as english } from '../en/table.ts';
import { germanQuotes, type LocaleFormatters } from '../formatters.ts';
import { COMPARED_WITH, NOT_COMPARED, TO_DATE_UNITS } from './comparisons.ts';

export const table = (to: LocaleFormatters): ReturnType<typeof english> => {
  const quoted = germanQuotes(to);
  return {
    yes: 'ja',
    no: 'nein',
    total: 'Gesamt',
    lastDay: 'Letzter Tag',
    fromTo: (from, last) => `${from} bis ${last}`,
    fiscal: (year, quarter) => `GJ${year}${quarter === undefined ? '' : `-Q${quarter}`}`,
    stillRunning: 'läuft noch',
    previousName: { previous_period: 'Vorperiode', previous_year: 'Vorjahr' },
    toDateName: {
      year: 'Seit Jahresbeginn',
      fiscal_year: 'Seit Beginn des Geschäftsjahres',
      quarter: 'Seit Quartalsbeginn',
    },
    bucket: { day: 'Tag', week: 'Woche ab', month: 'Monat' },
    isoWeek: 'Kalenderwoche',
    weekFrom: (week, first) => `${week} (ab ${first})`,
    previous: (header, kind) => `${header}, ${COMPARED_WITH[kind]}`,
    change: (label, kind) => `${label}, Veränderung${kind === undefined ? '' : ` (${COMPARED_WITH[kind]})`}`,
    toDate: (header, unit) => `${header}, ${TO_DATE_UNITS[unit]}`,
    points: 'PP',
    durations: { minutes: 'Minuten', hours: 'Stunden', days: 'Tage' },
    rawRatio: 'Anteil 0–1',
    incomplete: (note) => `Unvollständig: ${note}`,

    filterIs: (label, values) => `${label} ist ${to.any(values)}`,
    filterIsNot: (label, values) =>
      values.length < 2
        ? `${label} ist nicht ${values.join('')}`
        : `${label} ist weder ${values.slice(0, -1).join(', ')} noch ${values.at(-1)}`,
    search: (text) => `Suche: ${text}`,
    everything: 'ganze Organisation',
    ofEverything: 'Von der ganzen Organisation.',
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
    coversCompared: (range, others) =>
      `${range}, verglichen mit ${to.all(others.map(({ kind, days }) => days ?? `${kind === 'previous_year' ? 'dem Vorjahr' : 'der Vorperiode'} (ihre Tage sind nicht bekannt)`))}`,
    coversToDate: (range, unit, days) => `${range}; ${TO_DATE_UNITS[unit]}: ${days}`,
    computed: (covers, at) => `${covers}${at === undefined ? '' : `. Stand: ${at}`}.`,
    read: (covers, at) => `${covers}${at === undefined ? '' : `. Erfasster Bestand, Stand: ${at}`}.`,

    undefinedMeans: (dash) =>
      `${quoted(dash)} bedeutet: nicht definiert, etwa eine Quote oder ein Median ohne zugrunde liegende Fälle oder eine Veränderung gegenüber null. Es bedeutet nicht null.`,
    emptyMeans: (dash) => `${quoted(dash)} in einem Namen oder Feld bedeutet, dass kein Wert vorhanden ist.`,
    unrounded: 'Veränderungen sind aus ungerundeten Zahlen berechnet.',
    italicsMean: 'Kursive Zeilen betreffen einen Zeitraum, der noch läuft; ihre Zahlen ändern sich noch.',
    totalsMean:
      'Gesamtwerte berechnet der Dienst, nie aus den Zeilen. Wo sie Summen mehrerer Abrufe sind, nennt sie der Abschnitt.',

    schema: {
      running: 'Läuft noch',
      clipped: 'Angeschnitten',
      clippedMeans: 'Ob die Zeile nur die Tage ihrer Woche oder ihres Monats umfasst, die im Berichtszeitraum liegen.',
      runningMeans: 'Ob die Zeile einen Zeitraum betrifft, der noch läuft; ihre Zahlen ändern sich noch.',
      previous: (kind) => (kind === 'previous_year' ? 'Der Wert des Vorjahres' : 'Der Wert der Vorperiode'),
      toDate: (unit, from) => `Der Wert ${TO_DATE_UNITS[unit]} (ab ${to.day(from)})`,
      unlike: (kind) => `Nicht vergleichbar, ${COMPARED_WITH[kind]}`,
      unlikeMeans: (kind, empty) =>
        `Warum die Werte nicht mit denen ${kind === 'previous_year' ? 'des Vorjahres' : 'der Vorperiode'} verglichen werden dürfen. ${empty}: Sie dürfen es`,
      readAt: (kind) => `Stand${kind === undefined ? '' : `, ${COMPARED_WITH[kind]}`}`,
      readAtMeans: (kind, empty) =>
        `Wann der Dienst den Bestand${kind === undefined ? '' : ` ${kind === 'previous_year' ? 'des Vorjahres' : 'der Vorperiode'}`} berechnet hat. ${empty}: Er wurde nicht erfasst`,
      unlikeReason: NOT_COMPARED,
      countsAt: (when) => `Gezählt bei: ${when}`,
      aggregation: (name) => `Aggregation: ${name}`,
      availableFrom: (day) =>
        `Verfügbar ab ${to.day(day)}; frühere Werte sind nicht definiert und werden nicht verglichen`,
      firstDay: 'Der erste Tag',
      emptyField: 'Ein leeres Feld',
      undefinedMeans: (nothing) =>
        `${nothing} bedeutet: nicht definiert, etwa eine Quote oder ein Median ohne zugrunde liegende Fälle. Es bedeutet nicht null`,
      emptyMeans: (nothing) => `${nothing} bedeutet: kein Wert vorhanden`,
      name: (id) => `Name beim Dienst: ${id}`,
    },
  };
};
