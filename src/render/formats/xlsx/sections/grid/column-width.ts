import type { Row, Value } from '../../../../../fetch/dataset.ts';
import type { Words } from '../../../../../i18n/messages.ts';
import { isFigureColumn, type ViewColumn } from '../../../../figures/columns.ts';
import { UNDEFINED_TEXT } from '../../../../figures/format-value.ts';
import { defaultDecimals, type Quantity, rawPerShown } from '../../../../figures/quantity.ts';

const MIN_WIDTH = 9;
export const MAX_LABEL_WIDTH = 48;
/** The most characters for a figure. Only a long heading makes its column wider. */
export const MAX_VALUE_WIDTH = 18;
/** A heading takes at most about this many lines, in a column of at most this many characters. */
const MAX_HEADING_LINES = 5;
const MAX_HEADING_WIDTH = 42;
/** Headings up to this length stay on one line. */
const SHORT_HEADING = 10;

const EXTRA_CHARACTERS: Readonly<Partial<Record<Quantity['kind'], number>>> = {
  ratio: 3,
  points: 5,
  relative: 6,
  duration: 3,
};

/** The estimated number of characters that Excel shows. Formatting each value would take longer than writing it. */
function displayLength(value: Value, quantity: Quantity): number {
  if (quantity.kind === 'bucket') return quantity.granularity === 'month' ? 8 : 15;
  if (quantity.kind === 'instant') return 19;
  if (typeof value !== 'number') return typeof value === 'string' ? value.length : UNDEFINED_TEXT.length;
  const shown = quantity.kind === 'ratio' || quantity.kind === 'relative' ? value * 100 : value / rawPerShown(quantity);
  const digits = Math.trunc(Math.abs(shown)).toString().length;
  const decimals =
    'decimals' in quantity && quantity.decimals > 0 ? quantity.decimals + 1 : (EXTRA_CHARACTERS[quantity.kind] ?? 0);
  return digits + Math.floor((digits - 1) / 3) + decimals + (quantity.kind === 'difference' ? 3 : 1);
}

const longestWord = (text: string): number => text.split(/\s+/).reduce((most, word) => Math.max(most, word.length), 0);

/**
 * The width of the longest value.
 * @param measured the rows to look at
 */
function contentWidth(column: ViewColumn, measured: readonly Row[], { table }: Words): number {
  const running =
    column.role === 'bucket' && measured.some((row) => row.partial) ? ` · ${table.stillRunning}`.length : 0;
  const content = measured.reduce(
    (longest, row) => Math.max(longest, displayLength(column.read(row), column.quantity) + running),
    column.total === undefined ? 0 : displayLength(column.total, column.quantity) + 2,
  );
  return content + Math.max(0, column.decimals - defaultDecimals(column.quantity)) + 2;
}

/**
 * A width that fits the longest value and the longest word of the heading, between minimum and maximum.
 * @param heading as the column's header cell shows it
 */
export function computeWidth(column: ViewColumn, heading: string, measured: readonly Row[], words: Words): number {
  const maxWidth = isFigureColumn(column) ? MAX_VALUE_WIDTH : MAX_LABEL_WIDTH;
  const header =
    heading.length <= SHORT_HEADING
      ? heading.length + 1.5
      : Math.max(longestWord(heading) + 2, Math.min(heading.length / 2 + 3, MAX_VALUE_WIDTH));
  const long = Math.min(Math.ceil(heading.length / MAX_HEADING_LINES) + 2, MAX_HEADING_WIDTH);
  return Math.max(Math.min(Math.max(MIN_WIDTH, contentWidth(column, measured, words), header), maxWidth), long);
}
