import type { Better } from '../../definitions/schema/targets.ts';
import type { Dataset, GroupKey, Row, Table, TargetRecord } from '../../fetch/dataset.ts';

/** The direction that targets agree on; undefined: a change is neither good nor bad. */
const agreed = (targets: readonly TargetRecord[]): Better | undefined => {
  const [only, ...others] = new Set(targets.map(({ better }) => better));
  return others.length === 0 ? only : undefined;
};

const targetsOf = ({ targets = [] }: Pick<Dataset, 'targets'>, metric: string): TargetRecord[] =>
  targets.filter((target) => target.metric === metric);

/** Whether a table's totals and times are of one value. What the filters of an older dataset select is not known. */
const isOnly = ({ filters }: Pick<Table, 'filters'>, where: GroupKey): boolean => {
  const [filter, ...others] = filters;
  if (filter === undefined || others.length > 0 || !('is' in filter)) return false;
  const { dimension, values: [value, ...more] = [] } = filter.of ?? {};
  return dimension === where.dimension && more.length === 0 && value === where.value;
};

/** Which direction is better of a metric's totals and times: what targets of just these say, else those of the whole. */
export function betterOf(
  dataset: Pick<Dataset, 'targets'>,
  table: Pick<Table, 'filters' | 'unsplit'>,
  metric: string,
): Better | undefined {
  // The targets of a pack are those of its value.
  if (table.unsplit) return undefined;
  const targets = targetsOf(dataset, metric);
  const own = targets.filter(({ where }) => where !== undefined && isOnly(table, where));
  return agreed(own.length > 0 ? own : targets.filter(({ where }) => where === undefined));
}

type Coloured = Pick<Table, 'columns' | 'filters' | 'unsplit'>;

const dimensionsOf = ({ columns }: Coloured): string[] =>
  columns.filter(({ kind }) => kind === 'dimension').map(({ name }) => name);

/**
 * The same of a row. A row of a group is coloured only by a target that names its value, or its dimensions in `rows`:
 * what should be better as a whole need not be in each group.
 */
export function betterOfRow(
  dataset: Pick<Dataset, 'targets'>,
  table: Coloured,
  metric: string,
  values: Row['values'],
): Better | undefined {
  if (table.unsplit) return undefined;
  const dimensions = dimensionsOf(table);
  const [only] = dimensions;
  if (only === undefined) return betterOf(dataset, table, metric);
  const isAbout = ({ where, rows = [] }: TargetRecord): boolean =>
    where === undefined
      ? dimensions.every((dimension) => rows.includes(dimension))
      : dimensions.length === 1 && where.dimension === only && where.value === values[only];
  return agreed(targetsOf(dataset, metric).filter(isAbout));
}

/** The directions by which changes of a table are coloured: of its totals, its times and its groups. */
export function colouredBetters(
  dataset: Pick<Dataset, 'targets'>,
  table: Coloured & Pick<Table, 'totals'>,
  metric: string,
): ReadonlySet<Better> {
  if (table.unsplit) return new Set();
  const dimensions = dimensionsOf(table);
  const named = targetsOf(dataset, metric).filter(
    ({ where }) => dimensions.length === 1 && where?.dimension === dimensions[0],
  );
  return new Set(
    [
      betterOfRow(dataset, table, metric, {}),
      table.totals === undefined ? undefined : betterOf(dataset, table, metric),
      ...named.map(({ better }) => better),
    ].filter((better) => better !== undefined),
  );
}

/** Whether this direction, and no other, colours changes of a metric in a table. */
export const isBetterMeant = (...[dataset, table, metric, better]: [...Parameters<typeof colouredBetters>, Better]) => {
  const betters = colouredBetters(dataset, table, metric);
  return betters.size === 1 && betters.has(better);
};

/** Whether a change is good; undefined without a direction that is better, and for no change. */
export const changeIsGood = (
  better: Better | undefined,
  direction: 'up' | 'down' | 'same' | null,
): boolean | undefined =>
  better === undefined || direction === null || direction === 'same'
    ? undefined
    : (direction === 'up') === (better === 'higher');
