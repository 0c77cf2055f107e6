import type { review as english } from '../en/review.ts';
import type { LocaleFormatters } from '../formatters.ts';

export const review = (to: LocaleFormatters): ReturnType<typeof english> => ({
  comment: (author, day) => `Kommentar von ${author}, ${day}`,
  asked: 'Von Ihnen erbeten',
  actions: 'Massnahmen',
  carried: (period) => `übernommen aus ${period}`,
  continued: (where) => `Fortsetzung ${where}.`,
  deputy: (name, approver) => `${name} für ${approver}`,
  approved: (people, others) =>
    `Freigegeben von ${to.all([
      ...people.map(({ name, day }) => `${name} am ${day}`),
      ...(others === 0 ? [] : [others === 1 ? '1 weiteren Person' : `${to.number(others)} weiteren Personen`]),
    ])}`,
  corrected: (day) => `Korrigiert, ersetzt die Ausgabe vom ${day}`,
  correctedSubject: (edition) => (edition === undefined ? 'Korrigiert' : `Korrigiert, Ausgabe ${edition}`),
  correctedFile: (day) => `korrigiert, ersetzt die Ausgabe vom ${day}`,
  changed: (figures) =>
    figures === 1 ? '1 Wert hat sich geändert' : `${to.number(figures)} Werte haben sich geändert`,
  unchanged: 'Kein vergleichbarer Wert hat sich geändert',
  changedFigure: (section, metric, place) =>
    `${section}: ${metric}${place.length === 0 ? '' : ` (${place.join(', ')})`}`,
  change: (now, before) => `${now}, zuvor ${before}`,
  moreChanges: (count) =>
    count === 1 ? '1 weiterer Wert hat sich geändert.' : `${to.number(count)} weitere Werte haben sich geändert.`,
  replaces: 'Ersetzt Lauf',
  repeated: (day) => `Erneut versandt, nach dem Versand vom ${day}`,
  repeatedSubject: 'Erneut versandt',
  repeats: 'Wiederholt Lauf',
  csv: {
    title: 'Kommentare',
    section: { name: 'Abschnitt', description: 'Name des Abschnitts; leer bei einem Kommentar zum ganzen Bericht' },
    sectionTitle: { name: 'Titel des Abschnitts', description: 'Leer bei einem Kommentar zum ganzen Bericht' },
    comment: { name: 'Kommentar', description: 'Nur Text; eine Zeile je Absatz oder Listenpunkt' },
    author: { name: 'Verfasst von', description: 'Wer ihn geschrieben hat' },
    at: { name: 'Verfasst am', description: 'Wann er geschrieben wurde' },
  },
});
