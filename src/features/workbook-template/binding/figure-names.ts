import type { ComparisonKind } from '../../../definitions/schema/comparison.ts';
import type { TableComparison } from '../../../fetch/dataset.ts';
import type { Words } from '../../../i18n/messages.ts';
import { namedComparison } from '../../../render/figures/raw-columns.ts';
import type { FigureTarget, SectionOutline } from './bindings.ts';

/** A figure of a metric, with the suffixes that headers and names use for it. */
export interface NamedFigure {
  readonly target: FigureTarget;
  /** Suffixes of the metric's id; the first one is the full form. Empty text for the metric's own value. */
  readonly suffixes: readonly string[];
  /** The header in Docket's own workbook, without a unit. */
  readonly header: (label: string, words: Words) => string;
}

type RequestedFigures = Pick<SectionOutline, 'comparisons' | 'toDate'>;

/** The figures of each metric of a section. `.previous` and `.change` belong to its first comparison. */
export function collectFigures({ comparisons, toDate }: RequestedFigures): readonly NamedFigure[] {
  const tableComparisons = comparisons.map((kind): TableComparison => ({ kind, range: null }));
  const compared = comparisons.flatMap((kind: ComparisonKind, index): NamedFigure[] => [
    {
      target: { figure: 'previous', comparison: kind },
      suffixes: [`.${kind}`, ...(index === 0 ? ['.previous'] : [])],
      header: (label, { table }) => table.previous(label, kind),
    },
    {
      target: { figure: 'change', comparison: kind },
      suffixes: [`.change_${kind}`, ...(index === 0 ? ['.change'] : [])],
      header: (label, { table }) => table.change(label, namedComparison(kind, tableComparisons)),
    },
  ]);
  return [
    { target: { figure: 'value' }, suffixes: [''], header: (label) => label },
    ...compared,
    ...(toDate === null
      ? []
      : [
          {
            target: { figure: 'to_date' },
            suffixes: ['.to_date'],
            header: (label, { table }) => table.toDate(label, toDate),
          } satisfies NamedFigure,
        ]),
    {
      target: { figure: 'target' },
      suffixes: ['.target'],
      header: (label, { status }) => `${label}: ${status.targetColumn}`,
    },
    { target: { figure: 'status' }, suffixes: ['.status'], header: (label, { status }) => status.header(label) },
  ];
}

/** The full suffix of a metric's id for this figure, e.g. `.previous_year`. Empty for the metric's own value. */
export function figureSuffix(target: FigureTarget): string {
  switch (target.figure) {
    case 'previous':
      return `.${target.comparison}`;
    case 'change':
      return `.change_${target.comparison}`;
    case 'value':
      return '';
    default:
      return `.${target.figure}`;
  }
}

/** All suffixes that an id can have, whether or not the section has the figure. */
export const ALL_SUFFIXES: readonly string[] = collectFigures({
  comparisons: ['previous_period', 'previous_year'],
  toDate: 'year',
}).flatMap(({ suffixes }) => suffixes.filter((suffix) => suffix !== ''));

/** What to change in the section so that it has the figure of a suffix, as an imperative. */
export const addition = (suffix: string): string => {
  if (suffix === '.to_date') return 'add "to_date" to the section';
  const [kind] = /previous_period|previous_year/.exec(suffix) ?? [];
  return kind === undefined ? 'add "compare" to the section' : `add "compare: ${kind}" to the section`;
};
