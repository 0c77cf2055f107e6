import type { workbook as english } from '../en/workbook.ts';
import { germanQuotes, type LocaleFormatters } from '../formatters.ts';
import { COMPARED_WITH } from './comparisons.ts';

export const workbook = (to: LocaleFormatters): ReturnType<typeof english> => {
  const { number, day } = to;
  const quoted = germanQuotes(to);
  const counted = (count: number, one: string, many: string): string => `${number(count)} ${count === 1 ? one : many}`;
  return {
    sheets: {
      summary: 'Übersicht',
      contents: 'Inhalt',
      charts: 'Diagramme',
      chartData: 'Diagrammdaten',
      definitions: 'Definitionen',
      run: 'Lauf',
      longTexts: 'Lange Texte',
      unnamed: 'Blatt',
    },
    back: '← Inhalt',
    backToSummary: '← Übersicht',
    page: (page, pages) => `Seite ${page} von ${pages}`,
    part: (title, part, parts) => `${title} (Teil ${part} von ${parts})`,
    complete: 'Vollständig: Der Dienst hat jeden Abschnitt ganz beantwortet.',
    completeBut: (sections) =>
      `Vollständig, aber ohne die aktuellen Bestände in ${to.all(sections)}: Sie sind nicht definiert.`,
    completeSoFar: (asOf, sections) =>
      `Bisher vollständig${asOf === undefined ? '' : `, Stand: ${asOf}`}${
        sections.length === 0
          ? '.'
          : `, aber ohne die aktuellen Bestände in ${to.all(sections)}: Sie sind nicht definiert.`
      }`,
    incomplete: (count) =>
      `Unvollständig: ${counted(count, 'Hinweis, den', 'Hinweise, die')} Sie vor der Verwendung dieser Zahlen kennen sollten`,

    summary: {
      logo: 'Logo',
      logoOf: (organization) => `Logo von ${organization}`,
      owner: 'Ansprechperson',
      figures: 'Wichtigste Zahlen',
    },
    contents: {
      section: 'Abschnitt',
      covers: 'Umfang',
      rows: 'Zeilen',
      toKnow: 'Zu beachten',
      current: 'Aktueller Bestand',
      list: 'Liste',
      text: 'Text',
      whole: 'Ganzer Zeitraum',
      lastDay: 'Letzter Tag',
      by: { day: 'Nach Tagen', week: 'Nach Wochen', month: 'Nach Monaten' },
      summary: 'Die wichtigsten Zahlen',
      charts: 'Die Diagramme der Abschnitte',
      definitions: 'Was jede Kennzahl bedeutet',
      run: 'Wie diese Arbeitsmappe entstanden ist',
      chartData: 'Die Zahlen hinter den Diagrammen',
      longTexts: 'Die Texte, die für eine Zelle zu lang sind',
      untouched: (summed, compared) =>
        [
          summed.length === 0
            ? 'Jede Zahl ist so, wie der Dienst sie berechnet hat; hier wird nichts addiert.'
            : `Jede Zahl ist so, wie der Dienst sie berechnet hat – Ausnahme: ${to.all(summed)}. Werte oder Gesamtwerte dort sind Summen mehrerer Abrufe, wie der Abschnitt angibt.`,
          ...(compared ? ['Veränderungen werden hier aus diesen Zahlen berechnet.'] : []),
        ].join(' '),
    },
    section: {
      metric: 'Kennzahl',
      value: 'Wert',
      change: (kind) => (kind === undefined ? 'Veränderung' : `Veränderung (${COMPARED_WITH[kind]})`),
      trend: 'Verlauf',
      noRows: 'Keine Zeilen: Der Dienst hat nichts für diesen Abschnitt.',
      rows: (from, last, all, next) =>
        `Zeilen ${number(from)} bis ${number(last)} von ${number(all)}${next === undefined ? '.' : `; Fortsetzung in ${quoted(next)}.`}`,
      arrowsMean: '▲ in Blau ist mehr als zuvor, ▼ in Orange ist weniger; beides sagt nicht, ob das gut ist.',
    },
    charts: {
      bucket: 'Zeitraum',
      figures: (section) => `Zahlen: ${section}`,
      data: 'Was die Diagramme zeigen, wie in den Abschnitten. Eine leere Zelle ist nicht definiert: Das Diagramm hat dort eine Lücke, keine Null.',
    },
    definitions: {
      metrics: 'Kennzahlen',
      metric: 'Kennzahl',
      id: 'Name beim Dienst',
      description: 'Beschreibung',
      unit: 'Einheit',
      aggregation: 'Aggregation',
      toKnow: 'Zu beachten',
      sections: 'Abschnitte',
      groups: 'Gruppen und Felder',
      name: 'Name',
      type: 'Typ',
      values: 'Werte',
      ofAll: (note) => `Für alle: ${note}`,
      filters: 'Filter',
      count: 'Anzahl',
      ratio: 'Anteil von 0 bis 1, als % dargestellt',
      duration: (unit) => (unit === undefined ? 'eine Dauer' : `eine Dauer, in ${unit}`),
      otherUnit: (unit) => `${unit} (wie der Dienst sie nennt)`,
      countsNow: 'Ein aktueller Bestand: der Stand zum Zeitpunkt des Abrufs.',
      countsAt: (when) => `Gezählt bei: ${when}.`,
      casesUnknown: 'Zahl der Fälle unbekannt.',
      casesAtMost: (count) => `Von höchstens so vielen Fällen wie ${count}.`,
      availableFrom: (first) =>
        `Verfügbar ab ${day(first)}; frühere Werte sind nicht definiert und werden nicht verglichen.`,
      deprecated: 'Veraltet.',
      replacedBy: (id) => `Veraltet: ersetzt durch ${id}.`,
    },
    run: {
      report: 'Bericht',
      run: 'Lauf',
      definition: 'Definition',
      period: 'Zeitraum',
      made: 'Erstellt',
      registry: 'Kennzahlenkatalog',
      version: (version) => `Version ${version}`,
      calls: 'Abrufe',
      callCount: (count) => counted(count, 'Abruf', 'Abrufe'),
      leftOut: (why) => `weggelassen: ${why}`,
      call: 'Abruf',
      request: 'Anfrage',
      sections: 'Abschnitte',
      asOf: 'Stand',
      cached: 'Zwischengespeichert',
      correlation: 'Korrelations-ID',
      rows: (count) => counted(count, 'Zeile', 'Zeilen'),
      shared: (run, at) => `, angefragt von Lauf ${run}, beantwortet ${at}`,
      saved: ', aus einem früheren Versuch dieses Laufs',
      incomplete: 'Unvollständig',
      nothing: 'Nichts: Der Dienst hat jeden Abschnitt ganz beantwortet.',
    },
    longTexts: {
      what: 'Texte, die für eine Zelle zu lang sind. Die Teile einer Nummer ergeben zusammen das Ganze.',
      number: 'Nr.',
      sheet: 'Blatt',
      cell: 'Zelle',
      part: 'Teil',
      text: 'Text',
      partOf: (part, parts) => `${part} von ${parts}`,
      goesOn: (beginning, sheet, no) => `${beginning} … [Fortsetzung: siehe ${quoted(sheet)}, Nr. ${no}]`,
    },
  };
};
