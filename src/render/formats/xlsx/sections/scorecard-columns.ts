import type { Words } from '../../../../i18n/messages.ts';
import { judgedDecimals, targetDecimals, UNDEFINED_TEXT } from '../../../figures/format-value.ts';
import { createRounder, type Rounding, rawPerShown } from '../../../figures/quantity.ts';
import { namedComparison } from '../../../figures/raw-columns.ts';
import type { PackFigure, Scorecard, ScorecardRow } from '../../../pack/pack.ts';
import type { Cell } from '../package/sheet-rows.ts';
import { createDataStyles, createToneStyles, type DataStyle } from '../style/data-styles.ts';
import { differenceNumberFormat, withSuffix } from '../style/number-formats.ts';
import { type CellStyle, COLOURS, STATUS_STYLES, STYLES } from '../style/styles.ts';
import { measuredLineCount } from '../style/text-size.ts';
import { isLargeGrowth, toCellValue } from './grid/cell-value.ts';
import { shownAs } from './grid/headings.ts';

/** A column of a scorecard. */
export interface ScorecardColumn {
  readonly kind: 'label' | 'figure' | 'range' | 'trend';
  /** Unique in the scorecard, because it names the column of the Excel table. The cell may show a shorter text. */
  readonly header: Cell;
  /** The text that the header cell shows. */
  readonly heading: string;
  /** In characters. */
  readonly width: number;
  readonly cell: (row: ScorecardRow) => Cell;
}

/** Headings with up to this many characters wrap to two lines in narrower columns. */
const MAX_HEADING_WIDTH = 18;

/** The widths of a scorecard in characters, and the most lines of a heading. */
interface Spacing {
  readonly lines: number;
  readonly figure: number;
  readonly trend: number;
  /** A longer usual range takes two lines. */
  readonly range: number;
}

const ROOMY: Spacing = { lines: 2, figure: 11, trend: 20, range: 22 };
/** Used if the columns would be wider than a page. */
const NARROW: Spacing = { lines: 3, figure: 9, trend: 14, range: 15 };

/** The width of a bold letter. */
const LETTER_WIDTH = 1.15;

/**
 * The smallest width in which a heading takes at most this many lines without a broken word; the largest width if none
 * does.
 */
function widthOfHeading(heading: string, { lines, figure }: Spacing): number {
  const longestWord = Math.max(0, ...heading.split(/\s+/).map((word) => word.length));
  for (let width = Math.max(figure, Math.ceil(longestWord * LETTER_WIDTH) + 1); width <= MAX_HEADING_WIDTH; width += 1)
    if (measuredLineCount(heading, width - 0.5, { bold: true }) <= lines) return width;
  return MAX_HEADING_WIDTH;
}

const EMPTY: Cell = { value: null, style: STYLES.scorecardText };
const FIGURE_PADDING = 2;
const ARROW_CHARACTERS = 4;
const STATUS_WIDTH = 15;
const MIN_LABEL_WIDTH = 26;
const MAX_LABEL_WIDTH = 52;

/** The label, with the unit if the cell does not name it. Percentages do. */
export const scorecardLabel = ({ label, unit }: ScorecardRow): string =>
  unit === '' || unit === '%' ? label : `${label} (${unit})`;

/** Creates cells of figures: numbers in their own format, or a dash for an undefined figure. */
function figureCells(words: Words, locale: string) {
  const styleOf = createDataStyles(words, locale);
  const withTone = createToneStyles();
  const buildCell = (
    { value, quantity, few }: PackFigure,
    more: Pick<DataStyle, 'secondary' | 'partial'>,
    rounding?: Rounding,
  ): Cell => {
    const style = { quantity, total: false, unitInCell: true, ...more };
    if (value === null) return { value: UNDEFINED_TEXT, style: styleOf(style, true) };
    const rounded = { ...style, rounding: rounding ?? createRounder(quantity)(value) };
    const shown = isLargeGrowth(value, quantity) ? { ...style, largeGrowth: true as const } : rounded;
    const cell = { value: toCellValue(value, quantity), style: styleOf(shown, false) };
    return few === undefined ? cell : { ...cell, style: greyed(cell.style, few) };
  };
  /** The grey style, with the number of cases. */
  const greyed = (style: CellStyle, few: string): CellStyle => ({
    ...style,
    numFmt: withSuffix(style.numFmt ?? '', few),
    font: { ...style.font, color: { argb: COLOURS.quiet } },
  });
  return { cellOf: buildCell, withTone };
}

/** The decimals of a figure beside its target. */
const decimalsOfRow = ({ figure, target, watch }: ScorecardRow): number | undefined =>
  figure.value === null || target?.value == null
    ? undefined
    : judgedDecimals(figure.value, { target: target.value, watch }, figure.quantity);

/** The rounding of a figure beside a judged one: at least as fine. */
function earlierRounding(row: ScorecardRow, { value, quantity }: PackFigure): Rounding | undefined {
  const decimals = decimalsOfRow(row);
  if (decimals === undefined || value === null) return undefined;
  const own = createRounder(quantity)(value);
  return own.bound === undefined ? { decimals: Math.max(decimals, own.decimals) } : own;
}

/** The columns of a scorecard; the label comes first. */
export function scorecardColumns(
  scorecard: Scorecard,
  words: Words,
  locale: string,
  { narrow }: { readonly narrow: boolean },
): ScorecardColumn[] {
  const spacing = narrow ? NARROW : ROOMY;
  const headingWidth = (heading: string) => widthOfHeading(heading, spacing);
  const { comparisons, toDate, hasTargets, hasRanges, headings, groups } = scorecard;
  const { section: texts } = words.workbook;
  const { cellOf, withTone } = figureCells(words, locale);
  const rows = groups.flatMap((group) => group.rows);
  const widest = (textOf: (row: ScorecardRow) => string): number =>
    rows.reduce((most, row) => Math.max(most, textOf(row).length + FIGURE_PADDING), spacing.figure);
  /** The unit of the figures is in the label. */
  const withoutUnit = (text: string, { unit }: ScorecardRow): string =>
    text.endsWith(` ${unit}`) ? text.slice(0, -unit.length - 1) : text;
  const widthFor = (figureOf: (row: ScorecardRow) => PackFigure | undefined): number =>
    widest((row) => withoutUnit(figureOf(row)?.text ?? '', row));
  /** The width of a change. Its text has words, but a cell shows it as a number. */
  const widthOfChange = (index: number): number =>
    ARROW_CHARACTERS +
    widest((row) => {
      const { change, fewChange = false } = row.compared[index] ?? {};
      if (change === undefined || change.text === words.status.unseen) return '';
      return fewChange ? change.text : withoutUnit(change.text, row);
    });
  const longest = rows.reduce((most, row) => Math.max(most, scorecardLabel(row).length), 0);
  const header = (value: string, heading: string, style: CellStyle): Pick<ScorecardColumn, 'header' | 'heading'> => ({
    heading,
    header: { value, style: value === heading ? style : shownAs(style, heading) },
  });
  const compared = comparisons.flatMap((kind, index): ScorecardColumn[] => {
    const heading = headings.compared[index];
    const name = texts.change(
      namedComparison(
        kind,
        comparisons.map((each) => ({ kind: each, range: null })),
      ),
    );
    return [
      {
        kind: 'figure',
        ...header(words.table.previousName[kind], heading?.figure ?? '', STYLES.headerSecondary),
        width: Math.max(
          headingWidth(heading?.figure ?? ''),
          widthFor((row) => row.compared[index]),
        ),
        cell: (row) => {
          const figure = row.compared[index];
          return figure === undefined
            ? EMPTY
            : cellOf(figure, { secondary: true, partial: false }, earlierRounding(row, figure));
        },
      },
      {
        kind: 'figure',
        ...header(name, heading?.change ?? name, STYLES.headerSecondary),
        width: Math.max(headingWidth(heading?.change ?? name), widthOfChange(index)),
        cell: (row) => {
          const figure = row.compared[index];
          if (figure === undefined) return EMPTY;
          const { percentDecimals: decimals } = figure;
          const rounding = decimals === undefined ? undefined : { decimals };
          const cell = cellOf(figure.change, { secondary: true, partial: false }, rounding);
          const { value: now, quantity } = row.figure;
          const isDifference = figure.fewChange && figure.change.quantity.kind === 'relative';
          if (isDifference && figure.change.text !== UNDEFINED_TEXT && now !== null && figure.value !== null) {
            const value = (now - figure.value) / rawPerShown(quantity);
            return { value, style: { ...cell.style, numFmt: differenceNumberFormat(quantity, value, words) } };
          }
          return { ...cell, style: withTone(cell.style, figure.tone) };
        },
      },
    ];
  });
  const watchName = words.status.watchColumn;
  const watchColumn: ScorecardColumn = {
    kind: 'figure',
    ...header(watchName, watchName, STYLES.headerSecondary),
    width: Math.max(
      headingWidth(watchName),
      widthFor((row) => row.target),
    ),
    cell: ({ watch, target, figure }) => {
      if (watch === undefined || target === undefined) return EMPTY;
      const decimals = targetDecimals(watch, target.quantity, [figure.value]);
      const limit = { ...target, value: watch };
      return cellOf(limit, { secondary: true, partial: false }, decimals === undefined ? undefined : { decimals });
    },
  };
  return [
    {
      kind: 'label',
      ...header(texts.metric, headings.metric, STYLES.headerLabel),
      width: Math.min(Math.max(MIN_LABEL_WIDTH, longest + 2), MAX_LABEL_WIDTH),
      cell: (row) => ({ value: scorecardLabel(row), style: STYLES.scorecardLabel }),
    },
    {
      kind: 'figure',
      ...header(texts.value, headings.figure, STYLES.headerValue),
      width: Math.max(
        headingWidth(headings.figure),
        widthFor((row) => row.figure),
      ),
      cell: (row) => {
        const decimals = decimalsOfRow(row);
        return cellOf(
          row.figure,
          { secondary: false, partial: row.running },
          decimals === undefined ? undefined : { decimals },
        );
      },
    },
    ...compared,
    ...(toDate === undefined
      ? []
      : [
          {
            kind: 'figure',
            ...header(words.table.toDateName[toDate], headings.toDate, STYLES.headerSecondary),
            width: Math.max(
              headingWidth(headings.toDate),
              widthFor((row) => row.toDate),
            ),
            cell: ({ toDate: figure }) =>
              figure === undefined ? EMPTY : cellOf(figure, { secondary: false, partial: false }),
          } satisfies ScorecardColumn,
        ]),
    ...(hasTargets
      ? [
          {
            kind: 'figure',
            ...header(words.status.targetColumn, headings.target, STYLES.headerSecondary),
            width: Math.max(
              headingWidth(headings.target),
              widthFor((row) => row.target),
            ),
            cell: ({ target, figure }) => {
              if (target === undefined || target.value === null) return EMPTY;
              const decimals = targetDecimals(target.value, target.quantity, [figure.value]);
              const rounding = decimals === undefined ? undefined : { decimals };
              return cellOf(target, { secondary: true, partial: false }, rounding);
            },
          } satisfies ScorecardColumn,
          ...(rows.some(({ watch }) => watch !== undefined) ? [watchColumn] : []),
          {
            kind: 'figure',
            ...header(words.status.column, headings.status, STYLES.headerIndented),
            width: STATUS_WIDTH,
            cell: ({ status }) =>
              status === undefined ? EMPTY : { value: status.text, style: STATUS_STYLES[status.status] },
          } satisfies ScorecardColumn,
        ]
      : []),
    ...(hasRanges
      ? [
          {
            kind: 'range',
            ...header(words.status.usualColumn, words.status.usualColumn, STYLES.headerIndented),
            width: Math.min(
              spacing.range,
              rows.reduce((most, { usual = '' }) => Math.max(most, usual.length + 1), spacing.figure),
            ),
            cell: ({ usual = null }) => ({ value: usual, style: STYLES.scorecardText }),
          } satisfies ScorecardColumn,
        ]
      : []),
    ...(scorecard.trend === undefined
      ? []
      : [
          {
            kind: 'trend',
            ...header(texts.trend, headings.trend, STYLES.headerIndented),
            width: spacing.trend,
            cell: () => EMPTY,
          } satisfies ScorecardColumn,
        ]),
  ];
}
