import type { Status } from '../../fetch/dataset.ts';
import type { Words } from '../../i18n/messages.ts';
import type { Tone } from '../figures/change-text.ts';
import type { ViewColumn } from '../figures/columns.ts';
import { UNDEFINED_TEXT } from '../figures/format-value.ts';
import type { PackCell } from '../pack/pack.ts';
import type { SmallChart } from './email-images.ts';

export interface SummaryCell {
  readonly text: string;
  /** A shorter text, for use below the heading of a table. */
  readonly short: string;
  readonly number: boolean;
  readonly undefined: boolean;
  /** The figure has few cases and is grey. Its text has their number. */
  readonly few: boolean;
  /** Shape and word of its status; empty without a target. */
  readonly status: string;
  /** The status itself; empty without a target. */
  readonly state: Status | '';
  /** The target, e.g. `target 90%`; empty if it is not shown. */
  readonly target: string;
  /** E.g. `usual 420–520`; empty if its history gives no range. */
  readonly range: string;
  /** For a change: whether it is better or worse. */
  readonly tone: Tone;
  /** The word for `tone`; empty without a tone. */
  readonly tone_word: string;
  /** A small chart in place of the text. Both say the same. */
  readonly chart?: SmallChart;
}

export interface SummaryRow {
  readonly cells: readonly SummaryCell[];
  /** Its time has not ended. */
  readonly partial: boolean;
  /** The period cuts off its time. Absent: not known. */
  readonly clipped?: boolean;
  /** A subheading. Its only cell is above the rows that follow. */
  readonly heading: boolean;
}

export interface SummaryHeader {
  readonly text: string;
  readonly number: boolean;
  /** A phone may leave the column out. */
  readonly optional: boolean;
}

/** A section's table in an e-mail. */
export interface SectionTable {
  readonly headers: readonly SummaryHeader[];
  readonly rows: readonly SummaryRow[];
  /** Which end is shown if there are more rows. */
  readonly which: 'first' | 'last';
  /** The number of all rows and columns, shown or not. */
  readonly size: { readonly rows: number; readonly columns: number };
  readonly totals?: readonly SummaryCell[];
  /** The metrics whose headline figures it shows, one per row or one per column. */
  readonly headline: { readonly metrics: readonly string[]; readonly each: 'row' | 'column' };
  /** A scorecard or trends. Its rows are metrics, which are not left out to make the e-mail smaller. */
  readonly metrics?: true;
}

export const PLAIN = {
  number: false,
  undefined: false,
  few: false,
  status: '',
  state: '',
  target: '',
  range: '',
  tone: '',
  tone_word: '',
} as const;

/** A cell with only a text. */
export const textCell = (text: string): SummaryCell => ({ ...PLAIN, text, short: text });

/** The tone of a change, and the word for it. */
export const toned = (tone: Tone, { status }: Words): Pick<SummaryCell, 'tone' | 'tone_word'> => ({
  tone,
  tone_word: tone === '' ? '' : status.tones[tone],
});

/** Makes a cell from a figure, label or change of a table. */
export const asCell = (view: ViewColumn, cell: PackCell, words: Words): SummaryCell => {
  // A dash is neither better nor worse.
  const tone = toned(cell.text === UNDEFINED_TEXT ? '' : cell.tone, words);
  return {
    ...PLAIN,
    ...tone,
    text: tone.tone_word === '' ? cell.text : `${cell.text}, ${tone.tone_word}`,
    short: cell.text,
    number: view.role === 'value' || view.role === 'change',
    undefined: cell.value === null,
    few: cell.few === true,
    ...(cell.status === undefined ? {} : { status: cell.status.text, state: cell.status.status }),
  };
};
