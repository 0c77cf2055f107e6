import type { ComparisonKind } from '../../../definitions/schema/comparison.ts';
import type { TableComparison } from '../../../fetch/dataset.ts';
import type { Words } from '../../../i18n/messages.ts';
import { namedComparison } from '../../../render/figures/raw-columns.ts';
import type { FigureTarget, SectionOutline } from './bindings.ts';

/** A figure of a metric, with what headers and names put behind the metric. */
export interface NamedFigure {
  readonly target: FigureTarget;
  /** Behind the metric's id; the first one names it in full. Empty for the metric's own figure. */
  readonly suffixes: readonly string[];
  /** As the header of Docket's own workbook names it, without a unit. */
  readonly header: (label: string, words: Words) => string;
}

type Asked = Pick<SectionOutline, 'comparisons' | 'toDate'>;

/** The figures of each metric of a section. `.previous` and `.change` are those of its first comparison. */
export function figuresOf({ comparisons, toDate }: Asked): readonly NamedFigure[] {
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

/** The suffix of a metric's id that names this figure in full: `.previous_year`; empty for its own figure. */
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

/** Everything that may follow an id, whether or not the section has it. */
export const ALL_SUFFIXES: readonly string[] = figuresOf({
  comparisons: ['previous_period', 'previous_year'],
  toDate: 'year',
}).flatMap(({ suffixes }) => suffixes.filter((suffix) => suffix !== ''));

/** What the section needs to have the figure of a suffix, as an imperative. */
export const addition = (suffix: string): string => {
  if (suffix === '.to_date') return 'add "to_date" to the section';
  const [kind] = /previous_period|previous_year/.exec(suffix) ?? [];
  return kind === undefined ? 'add "compare" to the section' : `add "compare: ${kind}" to the section`;
};
