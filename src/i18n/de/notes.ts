import { germanQuotes, type LocaleFormatters } from '../formatters.ts';
import { type ComparedWith, missingDataText, type NoteFormatters, type RowKey } from '../note.ts';
import { COMPARED_WITH, formatBucketMismatch, formatTotalMismatch } from './comparisons.ts';

const MISSING = {
  previous: 'die Vorperiode',
  previous_totals: 'die Vorperiode der Gesamtwerte',
  year_before: 'das Vorjahr',
  year_before_totals: 'das Vorjahr der Gesamtwerte',
  to_date: 'die Werte seit Beginn',
  trend: 'die Werte des Verlaufs',
  totals: 'die Gesamtwerte',
  total: (metric: string) => `der Gesamtwert von ${metric}`,
};

const ofKinds = (kinds: readonly ComparedWith[]): string =>
  kinds.length === 0 ? '' : ` (${kinds.map((kind) => COMPARED_WITH[kind]).join(', ')})`;

const PER = { day: 'je Tag', week: 'je Woche', month: 'je Monat' } as const;
const BUCKETS = { day: 'Der Tag', week: 'Die Woche', month: 'Der Monat' } as const;
const LAST_DAY_OF = { week: 'der Woche', month: 'des Monats' } as const;
const CLIPPED = {
  week: { first: 'Die erste Woche', last: 'Die letzte Woche', both: 'Die erste und die letzte Woche' },
  month: { first: 'Der erste Monat', last: 'Der letzte Monat', both: 'Der erste und der letzte Monat' },
} as const;

export const notes = (to: LocaleFormatters): NoteFormatters => {
  const { number, exactNumber, day, instant } = to;
  const quoted = germanQuotes(to);
  const rowsText = (count: number): string => `${number(count)} ${count === 1 ? 'Zeile' : 'Zeilen'}`;
  const days = (from: string, last: string): string => `${day(from)} bis ${day(last)}`;
  const formatPlace = ({ bucket, group }: RowKey): string =>
    [...(bucket === null ? [] : [day(bucket)]), ...group].join(', ');
  const inBucket = (bucket: string | null): string => (bucket === null ? '' : ` (${day(bucket)})`);
  const figure = (value: number | null): string => (value === null ? 'nicht definiert' : exactNumber(value));
  const computed = (at: readonly [string, string] | null, timezone: string): string =>
    at === null
      ? ''
      : ` Der erste wurde am ${instant(at[0], timezone)} berechnet, der zweite am ${instant(at[1], timezone)}.`;
  const more = (figures: number): string =>
    figures === 1 ? '' : figures === 2 ? ' Ein weiterer Wert ebenso.' : ` ${number(figures - 1)} weitere Werte ebenso.`;
  return {
    cut_piece: () =>
      'Der Dienst hat eine der Antworten gekürzt, aus denen diese Tabelle zusammengesetzt ist: Es gibt weitere Zeilen.',
    cut: ({ rows }) => `Der Dienst hat die Tabelle nach ${rowsText(rows)} gekürzt: Es gibt weitere.`,
    limited: ({ rows }) =>
      `Nur die ${rows === 1 ? 'erste Zeile' : `ersten ${rowsText(rows)}`}, wie im Bericht festgelegt; es gibt weitere.`,
    lacking: ({ what }) =>
      `Vom Dienst nicht geliefert und hier nicht bekannt: ${what.map((each) => missingDataText(each, MISSING)).join(', ')}.`,
    lacking_cells: ({ cells }) =>
      cells === 1
        ? 'Der Dienst hat 1 Zelle ausgelassen; ihr Inhalt ist nicht bekannt.'
        : `Der Dienst hat ${number(cells)} Zellen ausgelassen; ihr Inhalt ist nicht bekannt.`,
    other_count: ({ said, sent }) => `Der Dienst nennt ${rowsText(said)} und hat ${number(sent)} geliefert.`,
    other_range: ({ from, to: last, got }) =>
      got === null
        ? `Angefragt: ${days(from, last)}. Für welche Tage der Dienst geantwortet hat, gibt er nicht an.`
        : `Angefragt: ${days(from, last)}. Der Dienst hat für ${days(got.from, got.to)} geantwortet.`,
    other_zone: ({ asked, got }) =>
      `Angefragt waren Tage in der Zeitzone ${asked}, der Dienst hat für Tage in ${got} geantwortet.`,
    compared_days_unknown: () => 'Der Dienst gibt nicht an, welche Tage die Vorperiode umfasst.',
    granularity_mismatch: ({ asked, got }) =>
      `Angefragt: ${asked === null ? 'der ganze Zeitraum in einem' : `eine Zeile ${PER[asked]}`}. Der Dienst hat ${got === null ? 'für den ganzen Zeitraum in einem' : `mit der Einteilung ${quoted(got)}`} geantwortet.`,
    compare_range_mismatch: ({ expected, got }) =>
      `Die Vorperiode ist ${days(expected.from, expected.to)}; der Dienst hat mit ${days(got.from, got.to)} verglichen.`,
    unit_mismatch: ({ columns }) =>
      `Der Dienst hat in einer anderen Einheit geantwortet, als sein Katalog angibt: ${columns
        .map(({ label, expected, got }) => `${label} in ${quoted(got)} statt ${quoted(expected)}`)
        .join('; ')}. Gezeigt werden die Zahlen ohne Einheit.`,
    column_mismatch: ({ columns }) =>
      `Der Dienst beschreibt Spalten anders als sein Katalog: ${columns
        .map(({ label, of, got }) => {
          if (of === 'label') return got.trim() === '' ? `${label} hat keinen Namen` : `${label} heisst ${quoted(got)}`;
          if (of === 'kind') return `${label} ist eine Spalte der Art ${quoted(got)}`;
          return of === 'type' ? `${label} hat den Typ ${quoted(got)}` : `${label} ist in ${quoted(got)}`;
        })
        .join('; ')}. Vielleicht sind andere Werte gemeint.`,
    median_above_p90: ({ figures, label, other, bucket }) =>
      `${figures === 1 ? '1 Wert kann' : `${number(figures)} Werte können`} nicht stimmen: ${label} liegt über ${other}${inBucket(bucket)}.`,
    invalid_value: ({ figures, label, value, bucket }) =>
      `${number(figures)} ${figures === 1 ? 'Zahl kann' : 'Zahlen können'} nicht stimmen, zum Beispiel ${exactNumber(value)} bei ${label}${inBucket(bucket)}.`,
    null_count: ({ figures, label, bucket }) =>
      `${number(figures)} ${figures === 1 ? 'Anzahl kam' : 'Anzahlen kamen'} ohne Wert, zum Beispiel ${label}${inBucket(bucket)}: Eine Anzahl ist 0, wenn nichts geschah.`,
    missing_rows: ({ rows, first }) =>
      formatPlace(first) === ''
        ? 'Der Dienst hat keine Zeile geliefert.'
        : `Der Dienst hat ${rowsText(rows)} ausgelassen, zum Beispiel ${formatPlace(first)}.`,
    duplicate_rows: ({ rows, first }) =>
      `${rowsText(rows)} ${rows === 1 ? 'kam' : 'kamen'} mehrfach${formatPlace(first) === '' ? '' : `, zum Beispiel ${formatPlace(first)}`}; keine wurde addiert.`,
    unexpected_buckets: ({ rows, first }) =>
      `${rowsText(rows)} ${rows === 1 ? 'gehört' : 'gehören'} zu keinem angefragten Abschnitt, zum Beispiel ${first === null ? 'eine ohne Datum' : day(first)}.`,
    filter_mismatch: ({ rows, dimension, value }) =>
      `${rowsText(rows)} ${rows === 1 ? 'gehört' : 'gehören'} zu Gruppen, die der Filter nicht zulässt, zum Beispiel ${dimension} ${value}.`,
    limit_exceeded: ({ limit, rows }) =>
      `Angefragt: höchstens ${rowsText(limit)}. Der Dienst hat ${number(rows)} geliefert.`,
    order_mismatch: () => 'Die Zeilen kamen nicht in der angefragten Reihenfolge.',
    total_mismatch: ({ totals }) =>
      `Ein Gesamtwert ist nicht die Summe seiner Zeilen: ${totals
        .map(
          ({ label, total, sum, previous }) =>
            `${label}${previous ? ' in der Vorperiode' : ''} ${exactNumber(total)} statt ${exactNumber(sum)}`,
        )
        .join('; ')}.`,
    total_outside: ({ totals }) =>
      `Ein Gesamtwert kann nicht zu seinen Zeilen gehören: ${totals
        .map(({ label, total, low, high, previous }) => {
          const rows = low === null || high === null ? 'nicht definiert' : `${figure(low)} bis ${figure(high)}`;
          return `${label}${previous ? ' der Vorperiode' : ''} ist ${figure(total)}, die Zeilen sind ${low === high ? figure(low) : rows}`;
        })
        .join('; ')}.`,
    answers_differ: ({ figures, label, from, to: last, one, other, at, timezone }) =>
      `Zwei Antworten widersprechen sich: ${label}, ${days(from, last)}, ist in der einen ${figure(one)} und in der anderen ${figure(other)}.${more(figures)}${computed(at, timezone)}`,
    to_date_below: ({ label, from, to: last, one, other, at, timezone }) =>
      `${label}, ${days(from, last)}, ist ${figure(one)}, und seit Beginn einschliesslich dieser Tage nur ${figure(other)}.${computed(at, timezone)}`,
    figures_repeated: ({ labels, kind, at, timezone }) =>
      `${to.all(labels)}: Jede Zeile hat dieselben Werte wie im Vergleich (${COMPARED_WITH[kind]}), was nicht sein kann.${computed(at, timezone)}`,
    not_additive: ({ labels }) =>
      `Der Katalog nennt ${labels.join(', ')} addierbar, was nur bei einer Anzahl geht: Nichts davon wurde addiert.`,
    computed_in_future: ({ at, timezone }) =>
      `Laut Dienst berechnet am ${instant(at, timezone)} (${timezone}): später, als die Antwort kam.`,
    computed_before_call: ({ at, timezone }) =>
      `Berechnet am ${instant(at, timezone)} (${timezone}), lange vor dem Abruf, obwohl der Dienst angibt, die Zahlen nicht aus dem Zwischenspeicher zu haben.`,
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
        : `Die Abschnitte ab ${to.all(firsts.map(day))} laufen noch: Ihre Zahlen ändern sich noch.`,
    buckets_to_come: ({ granularity, days: firsts }) =>
      firsts.length === 1
        ? `${granularity === null ? 'Der Abschnitt' : BUCKETS[granularity]} ab ${firsts.map(day).join('')} hat noch nicht begonnen: Die Zahlen sagen noch nichts aus.`
        : `Die Abschnitte ab ${to.all(firsts.map(day))} haben noch nicht begonnen: Ihre Zahlen sagen noch nichts aus.`,
    partial_mismatch: ({ rows, bucket, running }) =>
      `Der Dienst kennzeichnet ${rowsText(rows)} falsch als noch laufend oder nicht, zum Beispiel ${bucket === null ? 'den ganzen Zeitraum' : `den Abschnitt ab ${day(bucket)}`}: ${running ? 'Er lief noch' : 'Er war zu Ende'}. Gezeigt wird der Stand nach Datum.`,
    buckets_clipped: ({ granularity, first, last }) => {
      const which = CLIPPED[granularity][first && last ? 'both' : first ? 'first' : 'last'];
      return `${which} ${first && last ? 'umfassen' : 'umfasst'} nur die Tage innerhalb des Berichtszeitraums.`;
    },
    undefined_cells: ({ labels }) =>
      `Nicht definierte Werte von ${labels.join(', ')} (etwa eine Quote oder ein Median ohne zugrunde liegende Fälle) bedeuten nicht 0.`,
    counts_undefined: ({ why, due, timezone }) =>
      `Nicht definiert: Der Dienst kennt aktuelle Bestände nur zum Zeitpunkt des Abrufs. ${
        why === 'backfill'
          ? 'Ein nachträglich erstellter Bericht zeigt nicht die Zahlen von heute anstelle der damaligen.'
          : `Dieser Lauf hat sie mehr als 24 Stunden nach seinem Termin (${instant(due, timezone)}, ${timezone}) abgerufen.`
      }`,
    read_at: ({ at, timezone, granularity }) =>
      `Jeder Wert ist der Stand am ${granularity === 'day' ? 'jeweiligen Tag' : `letzten Tag ${LAST_DAY_OF[granularity]} im Berichtszeitraum`}, zuletzt vom ${instant(at, timezone)} (${timezone}).`,
    readings_missing: ({ days }) =>
      `Kein Stand vom ${to.all(days.map(day))}: Hier ist eine Lücke, denn der Dienst kennt aktuelle Bestände nur zum Zeitpunkt des Abrufs.`,
    readings_to_come: ({ days }) => `Noch kein Stand vom ${to.all(days.map(day))}: Der Abruf steht noch bevor.`,
    undefined_totals: ({ labels, why }) =>
      `Der Gesamtwert von ${labels.join(', ')} ist nicht definiert: ${why === 'range' ? 'Der Berichtszeitraum ist länger' : 'Ein Filter hat mehr Werte'}, als ein Abruf des Dienstes erlaubt, und was keine einfache Anzahl ist, lässt sich nicht aus Teilen addieren.`,
    deprecated: ({ label, id, since, successor }) =>
      `${label} (${id}) ist seit dem ${day(since)} veraltet${successor === null ? '' : `; an ihre Stelle tritt ${successor}`}.`,
    replaced: ({ from, to: successor }) =>
      `${successor.label} (${successor.id}) steht anstelle von ${from.label} (${from.id}); jene Kennzahl ist veraltet.`,
    no_figures_before: ({ first }) => `Keine Zahlen vor dem ${to.day(first)}.`,
    no_data_before: ({ label, first }) =>
      `Für ${label} gibt es vor dem ${day(first)} keine Daten: Die Werte sind nicht definiert.`,
    data_from: ({ label, first }) =>
      `Für ${label} gibt es Daten ab dem ${day(first)}: Frühere Werte sind nicht definiert, und solche, zu denen dieser Tag gehört, zählen erst ab ihm.`,
    not_compared_before: ({ label, first }) =>
      `Für ${label} gibt es Daten ab dem ${day(first)}: Der Vergleich mit früheren Tagen ist nicht definiert.`,
    target_mismatch: ({ label, target, unit }) =>
      `${label} hat keinen Status: Das Ziel ${target} passt nicht zur Einheit (${unit}).`,
    unlike_rows: ({ granularity, reasons }) =>
      `Keine Veränderung ist angegeben ${to.all(reasons.map((reason) => `${formatBucketMismatch(granularity, reason)}${ofKinds(reason.kinds)}`))}.`,
    unlike_totals: ({ totals, several }) => totals.map((total) => formatTotalMismatch(total, several)).join(' '),
    provisional: ({ labels }) =>
      `Keine Veränderung ist angegeben für ${to.all(labels)}: Werte vergangener Zeiträume ändern sich noch, wenn weitere Fälle enden.`,
    to_date_from: ({ label, first }) =>
      `Für ${label} liegen Daten ab ${day(first)} vor: Der Wert seit Beginn zählt erst ab dann.`,
    unknown_unit: ({ label, unit }) => `${label} ist in ${quoted(unit)} angegeben und wird unverändert gezeigt.`,
    list_changed: ({ counts, seen }) =>
      `Die Liste hat sich während des Lesens geändert (gemeldet: ${counts.map(number).join(', dann ')}); gelesen: ${number(seen)}.`,
    list_count: ({ said, seen }) => `Die Liste nennt ${number(said)} Einträge; gelesen: ${number(seen)}.`,
    list_order: ({ by }) => `Die Liste kam nicht in der angefragten Reihenfolge (${by}).`,
    list_fields: ({ fields }) =>
      `Nicht gezeigt, weil sie mehr als einen einzelnen Wert enthalten: ${fields.join(', ')}.`,
  };
};
