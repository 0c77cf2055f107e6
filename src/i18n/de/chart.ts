import type { chart as english, Point } from '../en/chart.ts';
import type { LocaleFormatters } from '../formatters.ts';

const pointText = ({ value, at }: Point): string => `${value} (${at})`;

const KINDS = {
  line: 'Liniendiagramm',
  column: 'Säulendiagramm',
  stacked_column: 'Gestapeltes Säulendiagramm',
  bar: 'Balkendiagramm',
  sparkline: 'Kleines Liniendiagramm',
} as const;

export const chart = (to: LocaleFormatters): ReturnType<typeof english> => ({
  count: 'Anzahl',
  share: 'Anteil (%)',
  durations: { minutes: 'Minuten', hours: 'Stunden', days: 'Tage' },

  firstGroups: (shown, all) => `nur die ersten ${to.number(shown)} von ${to.number(all)} Gruppen sind dargestellt`,
  largestGroups: (shown, all) =>
    `nur die ${to.number(shown)} Gruppen mit den höchsten Werten (von ${to.number(all)}) sind dargestellt`,
  others: (count) => `Übrige (${to.number(count)})`,
  onlyDrawn: (label) => `nur ${label} ist dargestellt`,
  onlyAlike: (names) => `${names.join(', ')} nur dort dargestellt, wo ein Vergleich möglich ist`,
  notDrawn: (names) => `${names.join(', ')} ${names.length === 1 ? 'ist' : 'sind'} nicht dargestellt`,
  omits: (what) => `Zu diesem Diagramm: ${what.join('; ')}.`,
  endRunning: 'Die letzten Werte betreffen einen Zeitraum, der noch läuft.',
  codes: (codes) => `In diesem Bild: ${codes.join('; ')}.`,
  noAxis: 'Kein Diagramm: Der Abschnitt hat weder Zeiträume noch Gruppen für eine Achse.',

  by: (kind, along) => `${KINDS[kind]} nach ${along}.`,
  groups: (name, groups, rest) => `${name}: ${groups.join(', ')}${rest > 0 ? ` und ${to.number(rest)} weitere` : ''}.`,
  nothing: (name) => `${name}: keine Zahlen.`,
  one: (name, point) => `${name}: ${pointText(point)}.`,
  trend: (name, { first, last, highest, lowest }) =>
    `${name}: von ${pointText(first)} bis ${pointText(last)}, Höchstwert ${pointText(highest)}, Tiefstwert ${pointText(lowest)}.`,
  moreSeries: (count) =>
    count === 1
      ? '1 weitere Datenreihe ist hier nicht beschrieben.'
      : `${to.number(count)} weitere Datenreihen sind hier nicht beschrieben.`,

  described: (kind, series, along, from, last) =>
    `${KINDS[kind]} mit ${series.join(', ')} nach ${along} von ${from} bis ${last}`,
});
