import type { Granularity } from '../../../contract/report.ts';
import type { DurationUnit } from '../../../definitions/schema/values/units.ts';
import type { Words } from '../../../i18n/messages.ts';
import { changeKind, type Quantity } from '../../../render/figures/quantity.ts';
import { quantityNumberFormat } from '../../../render/formats/xlsx/style/number-formats.ts';
import type { FigureTarget, OutlineColumn, SectionOutline } from '../binding/bindings.ts';
import { headerReader } from '../binding/column-headers.ts';
import { collectFigures, type NamedFigure } from '../binding/figure-names.ts';

/** A column of a table, or a cell, with its sample values. */
export interface StarterFigure {
  /** The header that binds it to the figure. */
  readonly header: string;
  /** Excel's number format. */
  readonly format: string;
  readonly samples: readonly (string | number | Date)[];
}

/** The texts and targets that a starter template needs besides the report. */
export interface StarterTexts {
  readonly words: Words;
  /** Ids of the metrics with targets. They get columns for target and status. */
  readonly judged: ReadonlySet<string>;
}

/** Rows of sample figures in each table: enough to see how they look, and to draw a chart of them. */
export const SAMPLE_ROWS = 3;

/** The unit of durations if neither the report nor the template's author has chosen one. */
export const DEFAULT_DURATION: DurationUnit = 'hours';

/** The columns of a section's table: everything that the report has, in the order of Docket's own workbook. */
export function sectionColumns(section: SectionOutline, texts: StarterTexts): readonly StarterFigure[] {
  const read = headerReader(section);
  const figures = section.columns.flatMap((column) =>
    column.kind === 'metric'
      ? metricFigures(column, section, texts).map(({ figure }) => figure)
      : [ownColumn(column, section, texts)],
  );
  // A label that two columns share cannot bind, so their ids are used.
  return figures.map(({ header, id, ...rest }) => ({ header: read(header).kind === 'bound' ? header : id, ...rest }));
}

type WithId = StarterFigure & { readonly id: string };

/** The figures of a metric that the report has. `id`: a header that binds whatever the labels are. */
export function metricFigures(
  column: OutlineColumn,
  section: Pick<SectionOutline, 'comparisons' | 'toDate'>,
  { words, judged }: StarterTexts,
): readonly { readonly of: NamedFigure; readonly figure: WithId }[] {
  const { name } = column;
  return collectFigures(section)
    .filter(({ target: { figure } }) => (figure !== 'target' && figure !== 'status') || judged.has(name))
    .map((of) => ({
      of,
      figure: {
        header: figureHeader(column, of, words),
        id: `${name}${of.suffixes[0] ?? ''}`,
        ...figureLook(column, of.target, words),
      },
    }));
}

/** The header in Docket's own workbook, with the unit of durations. The id if no label is known. */
function figureHeader(column: OutlineColumn, { target, suffixes, header }: NamedFigure, words: Words): string {
  const [label] = column.labels;
  if (label === undefined) return `${column.name}${suffixes[0] ?? ''}`;
  const { figure } = target;
  const duration = toQuantity(column);
  const hasUnit = duration.kind === 'duration' && figure !== 'change' && figure !== 'status';
  return header(hasUnit ? `${label} (${words.table.durations[duration.scale]})` : label, words);
}

function toQuantity({ unit, shownIn = DEFAULT_DURATION }: OutlineColumn): Quantity {
  if (unit === 'count' || unit === 'ratio') return { kind: unit };
  if (unit === 'seconds') return { kind: 'duration', scale: shownIn };
  return { kind: 'amount', unit: unit ?? null, decimals: 0 };
}

const SAMPLES = { count: [120, 134, 128], ratio: [0.42, 0.45, 0.47], duration: [18.5, 17.2, 16.9] } as const;

function figureLook(
  column: OutlineColumn,
  { figure }: FigureTarget,
  { status }: Words,
): Pick<StarterFigure, 'format' | 'samples'> {
  const quantity = toQuantity(column);
  const known = quantity.kind === 'ratio' || quantity.kind === 'duration' ? quantity.kind : 'count';
  const samples = SAMPLES[known];
  if (figure === 'status') return { format: '@', samples: [status.names.on_target] };
  if (figure === 'change') {
    const kind = changeKind(column.unit ?? 'count');
    const change: Quantity = kind === 'difference' ? { kind, unit: null, decimals: 0 } : { kind };
    return {
      format: quantityNumberFormat(change),
      samples: kind === 'relative' ? [0.08, 0.05, -0.02] : [2.4, 1.1, -0.6],
    };
  }
  // Without a catalog, nothing is known about the figure.
  const format = column.unit === undefined ? 'General' : quantityNumberFormat(quantity);
  return { format, samples: figure === 'previous' ? samples.map((value) => value * 0.95) : samples };
}

const DAYS: Readonly<Record<Granularity, readonly string[]>> = {
  day: ['2026-01-05', '2026-01-06', '2026-01-07'],
  week: ['2026-01-05', '2026-01-12', '2026-01-19'],
  month: ['2026-01-01', '2026-02-01', '2026-03-01'],
};

/** The column of a bucket, a dimension or a field of a list. */
function ownColumn(
  { name, kind, labels }: OutlineColumn,
  { granularity }: SectionOutline,
  { words }: StarterTexts,
): WithId {
  if (kind === 'time') {
    const unit = granularity ?? 'day';
    const header = labels[0] ?? words.table.bucket[unit];
    const format = quantityNumberFormat({ kind: 'bucket', granularity: unit });
    return { id: name, header, format, samples: DAYS[unit].map((day) => new Date(day)) };
  }
  const samples = kind === 'field' && name === 'id' ? [101, 102, 103] : ['A', 'B', 'C'];
  return { id: name, header: labels[0] ?? name, format: kind === 'field' ? 'General' : '@', samples };
}
