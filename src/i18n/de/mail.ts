import type { mail as english } from '../en/mail.ts';
import { germanQuotes, type LocaleFormatters } from '../formatters.ts';
import { COMPARED_WITH } from './comparisons.ts';

const ARROWS = { up: '▲', down: '▼' } as const;
const WHICH = { first: 'ersten', last: 'letzten' } as const;

export const mail = (to: LocaleFormatters): ReturnType<typeof english> => {
  const { number } = to;
  const quoted = germanQuotes(to);
  /** `1 weitere Spalte steht …`, `3 weitere Spalten stehen …` */
  const more = (count: number, one: string, many: string, where: string): string =>
    count === 1 ? `1 ${one} steht ${where}.` : `${number(count)} ${many} stehen ${where}.`;
  return {
    noPrevious: (kind) => `kein Wert für ${kind === 'previous_year' ? 'das Vorjahr' : 'die Vorperiode'}`,
    changeFrom: (change, kind) => `${change} (${COMPARED_WITH[kind]})`,
    was: (before) => `zuvor ${before}`,
    unchanged: (at) => `= unverändert bei ${at}`,
    changed: (direction, size, from) => `${ARROWS[direction]}${size === undefined ? '' : ` ${size}`}, zuvor ${from}`,
    changedTimes: (times, from) => `▲ ${times}, zuvor ${from}`,
    unseen: (unseen, from) => `${unseen}, zuvor ${from}`,
    named: (label, about) => `${label} (${about.join('; ')})`,
    soFar: 'bisher',
    now: (at, timezone) => (at === null ? 'aktuell' : `aktuell, ${to.instant(at, timezone)}`),
    read: (at, timezone) => `Stand ${to.instant(at, timezone)}`,
    filterIsAmong: (label, values) => `${label} ist eine von ${number(values)} Angaben`,
    filterIsNotAmong: (label, values) => `${label} ist keine von ${number(values)} Angaben`,

    attention: (breached, watch) =>
      [
        ...(breached === 0 ? [] : [`${number(breached)} verfehlt`]),
        ...(watch === 0 ? [] : [`${number(watch)} zu beobachten`]),
      ].join(', '),
    nothingBreached: 'Kein Ziel ist verfehlt, nichts ist zu beobachten.',
    moreAttention: (count) =>
      count === 1
        ? '1 weiterer Wert verfehlt sein Ziel oder ist zu beobachten.'
        : `${number(count)} weitere Werte verfehlen ihr Ziel oder sind zu beobachten.`,
    rowCount: (rows) => (rows === 1 ? '1 Zeile' : `${number(rows)} Zeilen`),
    ready: (period) => `Der Bericht für ${period} ist fertig.`,

    inAttached: {
      xlsx: 'in der angehängten Arbeitsmappe',
      csv: 'in den angehängten CSV-Dateien',
      pdf: 'im angehängten PDF',
    },
    leftOut: 'nicht in dieser E-Mail',
    below: 'weiter unten',
    thingsToKnow: (count) =>
      count === 1
        ? '1 Hinweis, den Sie vor der Verwendung dieser Zahlen kennen sollten'
        : `${number(count)} Hinweise, die Sie vor der Verwendung dieser Zahlen kennen sollten`,
    moreRemarks: (count, where) => more(count, 'weiterer solcher Hinweis', 'weitere solche Hinweise', where),
    moreFigures: (count, where) => more(count, 'weitere Kennzahl', 'weitere Kennzahlen', where),
    moreColumns: (count, where) => more(count, 'weitere Spalte', 'weitere Spalten', where),
    moreSections: (count, where) => more(count, 'weiterer Abschnitt', 'weitere Abschnitte', where),
    moreFiles: (count) =>
      count === 1
        ? 'Zusätzlich wurde 1 weitere Datei erstellt.'
        : `Zusätzlich wurden ${number(count)} weitere Dateien erstellt.`,
    allRows: (rows, where) =>
      rows === 1 ? `Die einzige Zeile steht ${where}.` : `Alle ${number(rows)} Zeilen stehen ${where}.`,
    someRows: (which, shown, rows, where) =>
      `Die ${shown === 1 ? WHICH[which].slice(0, -1) : `${WHICH[which]} ${number(shown)}`} von ${number(rows)} Zeilen; der Rest steht ${where}.`,

    onList: (title, organization, owner) =>
      `Sie erhalten diese E-Mail, weil Sie auf der Empfängerliste des Berichts ${quoted(title)} von ${organization} stehen, den ${owner} betreut.`,
    // Corrects cronstrue, which writes „nur jeden Montag“ and an English comma before „und“.
    madeWhen: (schedule, timezone) =>
      `Der Bericht wird nach Zeitplan erstellt: ${schedule.replace('nur jeden', 'jeden').replaceAll(', und ', ' und ')} (${timezone}).`,
    businessDay: (n) => `am ${n < 0 ? (n === -1 ? 'letzten' : `${-n}.-letzten`) : `${n}.`} Arbeitstag des Monats`,
    shifted: (to) => (to === 'next_business_day' ? 'sonst am nächsten Arbeitstag' : 'sonst am Arbeitstag davor'),
    bySchedule: (cron) => `nach dem Zeitplan ${cron}`,
    onDemand: 'Dieser Bericht wurde auf Anforderung erstellt.',

    template: {
      incomplete: 'Unvollständig',
      headline: 'Das Wichtigste',
      still_running: 'läuft noch',
      cut_off: 'angeschnitten',
      no_rows: 'Keine Zeilen: Der Dienst hat nichts für diesen Abschnitt.',
      files: 'Dateien',
      attached: 'angehängt',
      how_to_read: 'Lesehilfe',
      questions: 'Fragen, Korrekturen oder Abmeldung von der Liste:',
      made: 'Erstellt',
      report: 'Bericht',
      run: 'Lauf',
      open_page: 'Den Lauf in Docket öffnen',
      needs_attention: 'Zu beachten',
    },
  };
};
