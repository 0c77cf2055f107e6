import type { Dataset, Judgement, Row, Status, Table } from '../../fetch/dataset.ts';
import type { Words } from '../../i18n/messages.ts';
import type { PackStatus } from '../pack/pack.ts';
import type { Boundaries } from './format-value.ts';

/** One shape per status, so that readers can tell it without colour. Arrows are not used, because they mark changes. */
const SHAPES = { on_target: '●', watch: '◆', breached: '■', undefined: '○' } as const satisfies Record<Status, string>;

/** A status, whether the figure can still improve, and whether it has few cases. */
export type ShownStatus = Pick<Judgement, 'status' | 'soFar' | 'few'>;

export const shownStatus = ({ status, soFar, few }: Judgement): ShownStatus => ({
  status,
  ...(soFar && { soFar }),
  ...(few && { few }),
});

/** The status that decides the colour. A figure with few cases is grey, like an undefined one. */
export const selectColour = ({ status, few }: ShownStatus): Status => (few === undefined ? status : 'undefined');

/** The target and the watch limit of a judged figure; undefined without a target. */
export function findBoundaries(
  { targets = [] }: Pick<Dataset, 'targets'>,
  judgement: Judgement | undefined,
): Boundaries | undefined {
  const record = judgement === undefined ? undefined : targets[judgement.target];
  if (record === undefined || record.target === null) return undefined;
  return { target: record.target, ...(record.watch === undefined ? {} : { watch: record.watch }) };
}

/** `breached`, or `breached so far`. */
export const statusWord = ({ status, soFar }: ShownStatus, { status: words }: Words): string =>
  soFar === true ? words.soFar(words.names[status]) : words.names[status];

/** Shape and word: `■ breached`. */
export const statusText = (shown: ShownStatus, words: Words): string =>
  `${SHAPES[shown.status]} ${statusWord(shown, words)}`;

/**
 * E.g. `1 breached on few cases`; empty if there is none.
 * @param counts from `countStatuses`
 */
export const fewStatusText = (counts: Readonly<Partial<Record<Status, number>>>, { status: words }: Words): string =>
  (['breached', 'watch'] as const)
    .flatMap((status) => (counts[status] === undefined ? [] : [words.few(counts[status], words.names[status])]))
    .join('; ');

/** A status as packs show it. */
export const packStatus = (shown: ShownStatus, words: Words): PackStatus => ({
  status: selectColour(shown),
  text: statusText(shown, words),
  word: statusWord(shown, words),
});

/** The judgement of a section's totals; undefined without a target. */
export const totalJudgement = (
  judgements: readonly Judgement[] | undefined,
  section: string,
  metric: string,
): Judgement | undefined =>
  judgements?.find((each) => each.section === section && each.metric === metric && isTotal(each));

/** Whether a judgement is about a section's totals. */
export const isTotal = ({ bucket, group }: Judgement): boolean => bucket === null && group === null;

/** The judgements of one metric in a table. */
export interface MetricJudgements {
  readonly ofRow: (row: Row) => Judgement | undefined;
  readonly ofTotals: Judgement | undefined;
}

/**
 * The judgements of each judged metric of a table, in the order in which they were made.
 * @param judgements those of the section
 */
export function judgementsByMetric(
  { columns }: Pick<Table, 'columns'>,
  judgements: readonly Judgement[],
): ReadonlyMap<string, MetricJudgements> {
  // Only tables with one dimension have judged groups.
  const dimension = columns.find(({ kind }) => kind === 'dimension')?.name;
  const keyOf = (bucket: unknown, value: unknown) => JSON.stringify([bucket ?? null, value ?? null]);
  return new Map(
    [...new Set(judgements.map(({ metric }) => metric))].map((metric) => {
      const own = judgements.filter((judgement) => judgement.metric === metric);
      const byRow = new Map(
        own.filter((each) => !isTotal(each)).map((each) => [keyOf(each.bucket, each.group?.value), each] as const),
      );
      const ofRow = ({ values }: Row): Judgement | undefined =>
        byRow.get(keyOf(values.bucket, dimension === undefined ? null : values[dimension])) ??
        (dimension === undefined ? undefined : byRow.get(keyOf(values.bucket, null)));
      return [metric, { ofRow, ofTotals: own.find(isTotal) }];
    }),
  );
}
