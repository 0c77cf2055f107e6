import type { Formats } from '../formats.ts';
import type { Lacking, NoteWords } from '../note.ts';
import { quoter } from './quote.ts';

const some = (what: string, metrics: readonly string[]): string =>
  metrics.length === 0 ? what : `${what} (${metrics.join(', ')})`;

function lacking(what: Lacking): string {
  switch (what.of) {
    case 'column':
      return what.label;
    case 'previous':
      return some('die Vorperiode', what.metrics);
    case 'previous_totals':
      return some('die Vorperiode der Gesamtwerte', what.metrics);
    case 'totals':
      return 'die Gesamtwerte';
    case 'total':
      return `der Gesamtwert von ${what.metric}`;
  }
}

const BUCKETS = { day: 'Der Tag', week: 'Die Woche', month: 'Der Monat' } as const;
const CLIPPED = {
  week: { first: 'Die erste Woche', last: 'Die letzte Woche', both: 'Die erste und die letzte Woche' },
  month: { first: 'Der erste Monat', last: 'Der letzte Monat', both: 'Der erste und der letzte Monat' },
} as const;

export const notes = (to: Formats): NoteWords => {
  const { number, day, instant } = to;
  const quoted = quoter(to);
  const rowsText = (count: number): string => `${number(count)} ${count === 1 ? 'Zeile' : 'Zeilen'}`;
  const days = (from: string, last: string): string => `${day(from)} bis ${day(last)}`;
  return {
    cut_piece: () =>
      'Der Dienst hat eine der Antworten gekürzt, aus denen diese Tabelle zusammengesetzt ist: Es gibt weitere Zeilen.',
    cut: ({ rows }) => `Der Dienst hat die Tabelle nach ${rowsText(rows)} gekürzt: Es gibt weitere.`,
    limited: ({ rows }) =>
      `Nur die ${rows === 1 ? 'erste Zeile' : `ersten ${rowsText(rows)}`}, wie im Bericht festgelegt; es gibt weitere.`,
    lacking: ({ what }) => `Vom Dienst nicht geliefert und hier leer: ${what.map(lacking).join(', ')}.`,
    lacking_cells: ({ cells }) =>
      cells === 1
        ? 'Der Dienst hat 1 Zelle ausgelassen; sie ist leer.'
        : `Der Dienst hat ${number(cells)} Zellen ausgelassen; sie sind leer.`,
    other_count: ({ said, sent }) => `Der Dienst nennt ${rowsText(said)} und hat ${number(sent)} geliefert.`,
    other_range: ({ from, to: last, got }) =>
      got === null
        ? `Angefragt: ${days(from, last)}. Für welche Tage der Dienst geantwortet hat, gibt er nicht an.`
        : `Angefragt: ${days(from, last)}. Der Dienst hat für ${days(got.from, got.to)} geantwortet.`,
    other_zone: ({ asked, got }) =>
      `Angefragt waren Tage in der Zeitzone ${asked}, der Dienst hat für Tage in ${got} geantwortet.`,
    compared_days_unknown: () => 'Der Dienst gibt nicht an, welche Tage die Vorperiode umfasst.',
    computed_unknown: ({ cached }) =>
      `Der Dienst gibt nicht lesbar an, wann er die Zahlen berechnet hat${cached ? ', und hatte sie zwischengespeichert: Sie können veraltet sein' : ''}.`,
    computed_early: ({ at, to: last, timezone }) =>
      `Berechnet am ${instant(at, timezone)}, vor dem Ende des Berichtszeitraums (${day(last)}, ${timezone}): Dessen Ende ist nicht mitgezählt.`,
    computed_long_ago: ({ at, timezone }) =>
      `Aus dem Zwischenspeicher des Dienstes, berechnet am ${instant(at, timezone)} (${timezone}): vor über einer Stunde.`,
    period_running: () => 'Der Berichtszeitraum läuft noch: Die Zahlen ändern sich noch.',
    buckets_running: ({ granularity, days: firsts }) =>
      firsts.length === 1
        ? `${granularity === null ? 'Der Abschnitt' : BUCKETS[granularity]} ab ${firsts.map(day).join('')} läuft noch: Die Zahlen ändern sich noch.`
        : `Was ab ${to.all(firsts.map(day))} beginnt, läuft noch: Die Zahlen ändern sich noch.`,
    buckets_clipped: ({ granularity, first, last }) => {
      const which = CLIPPED[granularity][first && last ? 'both' : first ? 'first' : 'last'];
      return `${which} ${first && last ? 'umfassen' : 'umfasst'} nur die Tage innerhalb des Berichtszeitraums.`;
    },
    undefined_cells: ({ labels }) =>
      `Eine leere Zelle bei ${labels.join(', ')} ist nicht definiert (etwa eine Quote oder ein Median ohne zugrunde liegende Fälle) und bedeutet nicht 0.`,
    undefined_totals: ({ labels, why }) =>
      `Der Gesamtwert von ${labels.join(', ')} ist nicht definiert: ${why === 'range' ? 'Der Berichtszeitraum ist länger' : 'Ein Filter hat mehr Werte'}, als ein Abruf des Dienstes erlaubt, und was keine einfache Anzahl ist, lässt sich nicht aus Teilen addieren.`,
    deprecated: ({ label, id, since, successor }) =>
      `${label} (${id}) ist seit dem ${day(since)} veraltet${successor === null ? '' : `; an ihre Stelle tritt ${successor}`}.`,
    replaced: ({ from, to: successor }) =>
      `${successor.label} (${successor.id}) steht anstelle von ${from.label} (${from.id}); jene Kennzahl ist veraltet.`,
    no_data_before: ({ label, first }) =>
      `Für ${label} gibt es vor dem ${day(first)} keine Daten: Die Nullen sagen nichts aus.`,
    data_from: ({ label, first }) => `Für ${label} gibt es Daten ab dem ${day(first)}; frühere Tage stehen auf null.`,
    unknown_unit: ({ label, unit }) => `${label} ist in ${quoted(unit)} angegeben und wird unverändert gezeigt.`,
    list_changed: ({ counts, seen }) =>
      `Die Liste hat sich während des Lesens geändert (gemeldet: ${counts.map(number).join(', dann ')}); gelesen: ${number(seen)}.`,
    list_count: ({ said, seen }) => `Die Liste nennt ${number(said)} Einträge; gelesen: ${number(seen)}.`,
    list_fields: ({ fields }) =>
      `Nicht gezeigt, weil sie mehr als einen einzelnen Wert enthalten: ${fields.join(', ')}.`,
  };
};
