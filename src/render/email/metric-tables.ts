import { firstRows } from '../../fetch/rows.ts';
import { messagesFor, type Words } from '../../i18n/messages.ts';
import { withArrow } from '../figures/change-text.ts';
import { UNDEFINED_TEXT } from '../figures/format-value.ts';
import type { ComparedFigure, PackSection, Scorecard, ScorecardRow, SectionOf } from '../pack/pack.ts';
import { PLAIN, type SectionTable, type SummaryCell, type SummaryRow, textCell, toned } from './summary-cells.ts';

/** The most rows of a scorecard or of trends. */
export const MAX_METRIC_ROWS = 16;
/** The most comparisons of a scorecard. */
const MAX_COMPARISONS = 2;
/** The size of the small charts, in CSS pixels. */
const SPARKLINE = { width: 80, height: 22 };
const PANEL = { width: 220, height: 40 };

/** A change in words. `short` has only arrow and size, e.g. `▲ 12.4%`, or a dash if the two are not compared. */
function changeCell(compared: ComparedFigure | undefined, words: Words): SummaryCell {
  if (compared === undefined) return textCell('');
  const { change, direction, phrase, tone, size = UNDEFINED_TEXT } = compared;
  return {
    ...PLAIN,
    ...toned(tone, words),
    text: phrase,
    short: withArrow(direction, direction === null ? change.text : size),
    undefined: direction === null && change.value === null,
  };
}

function figureCell({ figure, target, watchText, status, usual = '' }: ScorecardRow, words: Words): SummaryCell {
  return {
    ...textCell(figure.text),
    number: true,
    undefined: figure.value === null,
    few: figure.few !== undefined,
    ...(status === undefined ? {} : { status: status.text, state: status.status }),
    target:
      target === undefined || status === undefined
        ? ''
        : [words.status.target(target.text), ...(watchText === undefined ? [] : [watchText])].join(', '),
    range: usual,
  };
}

const buildSparkline = ({ trend, trendText = '' }: ScorecardRow): SummaryCell =>
  trend.some(({ value }) => value !== null)
    ? { ...textCell(trendText), chart: { points: trend, alt: trendText, ...SPARKLINE } }
    : textCell(trend.length === 0 ? '' : UNDEFINED_TEXT);

/**
 * A table with one row for each metric: figure with target and status, changes, the figure to date, and a small chart.
 */
export function scorecardTable(scorecard: Scorecard, section: PackSection, locale: string): SectionTable {
  const words = messagesFor(locale);
  const { headings, groups } = scorecard;
  const comparisons = scorecard.comparisons.slice(0, MAX_COMPARISONS);
  const trend = scorecard.trend !== undefined;
  const toDate = scorecard.toDate !== undefined;
  const all = groups.flatMap(({ rows }) => rows);
  const shown = new Set(all.slice(0, MAX_METRIC_ROWS));
  const [row] = firstRows(section.table.rows, 1);
  const headers = [
    { text: headings.metric, number: false, optional: false },
    { text: headings.figure, number: true, optional: false },
    ...comparisons.map((_, index) => ({
      text: headings.compared[index]?.change ?? '',
      number: false,
      optional: index > 0,
    })),
    ...(toDate ? [{ text: headings.toDate, number: true, optional: true }] : []),
    ...(trend ? [{ text: headings.trend, number: false, optional: true }] : []),
  ];
  return {
    headers,
    rows: groups.flatMap(({ title, rows }): SummaryRow[] => {
      const own = rows.filter((each) => shown.has(each));
      if (own.length === 0) return [];
      return [
        ...(title === null ? [] : [{ cells: [textCell(title)], partial: false, heading: true }]),
        ...own.map((each) => ({
          cells: [
            textCell(each.label),
            figureCell(each, words),
            ...comparisons.map((_, index) => changeCell(each.compared[index], words)),
            ...(toDate
              ? [{ ...textCell(each.toDate?.text ?? ''), number: true, few: each.toDate?.few !== undefined }]
              : []),
            ...(trend ? [buildSparkline(each)] : []),
          ],
          partial: row?.partial ?? each.running,
          heading: false,
        })),
      ];
    }),
    which: 'first',
    size: { rows: all.length, columns: headers.length + scorecard.comparisons.length - comparisons.length },
    headline: { metrics: [...shown].map(({ column }) => column.name), each: 'row' },
    metrics: true,
  };
}

/** A table with one row for each metric: its last figure and a small chart. */
export function trendTable({ panels, granularity }: SectionOf<'trend'>, locale: string): SectionTable {
  const words = messagesFor(locale);
  const shown = panels.slice(0, MAX_METRIC_ROWS);
  const points = Math.max(0, ...shown.map((panel) => panel.points.length));
  const last = shown[0]?.points.at(-1)?.label ?? words.pack.value;
  return {
    headers: [
      { text: words.pack.scorecard.metric, number: false, optional: false },
      { text: last, number: true, optional: false },
      { text: words.pack.scorecard.trend(points, granularity), number: false, optional: false },
    ],
    rows: shown.map(({ label, points: own, target, band, description }) => {
      const point = own.at(-1);
      return {
        cells: [
          textCell(label),
          {
            ...textCell(point?.text ?? ''),
            number: true,
            undefined: (point?.value ?? null) === null,
            target: target === undefined ? '' : words.status.target(target.text),
            range: band?.text ?? '',
          },
          {
            ...textCell(description),
            chart: { points: own, ...(band === undefined ? {} : { band }), alt: description, ...PANEL },
          },
        ],
        partial: point?.running ?? false,
        clipped: point?.clipped ?? false,
        heading: false,
      };
    }),
    which: 'first',
    size: { rows: panels.length, columns: 3 },
    headline: { metrics: [], each: 'row' },
    metrics: true,
  };
}
