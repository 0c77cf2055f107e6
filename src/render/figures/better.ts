import type { Better } from '../../definitions/schema/targets.ts';
import type { Dataset, GroupKey, Row, Table, TargetRecord } from '../../fetch/dataset.ts';

/** The direction that all targets agree on. Undefined: a change is neither good nor bad. */
const agreed = (targets: readonly TargetRecord[]): Better | undefined => {
  const [only, ...others] = new Set(targets.map(({ better }) => better));
  return others.length === 0 ? only : undefined;
};

const filterTargets = ({ targets = [] }: Pick<Dataset, 'targets'>, metric: string): TargetRecord[] =>
  targets.filter((target) => target.metric === metric);

/**
 * Whether a table's totals and times cover exactly one value. Filters of an older dataset do not say what they select.
 */
const isOnly = ({ filters }: Pick<Table, 'filters'>, where: GroupKey): boolean => {
  const [filter, ...others] = filters;
  if (filter === undefined || others.length > 0 || !('is' in filter)) return false;
  const { dimension, values: [value, ...more] = [] } = filter.of ?? {};
  return dimension === where.dimension && more.length === 0 && value === where.value;
};

/**
 * Which direction is better for a metric's totals and times: what targets for exactly these say, otherwise what targets
 * for the whole say.
 */
export function findBetter(
  dataset: Pick<Dataset, 'targets'>,
  table: Pick<Table, 'filters' | 'unsplit'>,
  metric: string,
): Better | undefined {
  // The targets in the report of one `split` value apply to that value only.
  if (table.unsplit) return undefined;
  const targets = filterTargets(dataset, metric);
  const own = targets.filter(({ where }) => where !== undefined && isOnly(table, where));
  return agreed(own.length > 0 ? own : targets.filter(({ where }) => where === undefined));
}

type Coloured = Pick<Table, 'columns' | 'filters' | 'unsplit'>;

const collectDimensions = ({ columns }: Coloured): string[] =>
  columns.filter(({ kind }) => kind === 'dimension').map(({ name }) => name);

/**
 * Which direction is better for a row. A row of a group is coloured only by a target that names its value, or its
 * dimensions in `rows`: what is better for the whole need not be better in each group.
 */
export function betterOfRow(
  dataset: Pick<Dataset, 'targets'>,
  table: Coloured,
  metric: string,
  values: Row['values'],
): Better | undefined {
  if (table.unsplit) return undefined;
  const dimensions = collectDimensions(table);
  const [only] = dimensions;
  if (only === undefined) return findBetter(dataset, table, metric);
  const isAbout = ({ where, rows = [] }: TargetRecord): boolean =>
    where === undefined
      ? dimensions.every((dimension) => rows.includes(dimension))
      : dimensions.length === 1 && where.dimension === only && where.value === values[only];
  return agreed(filterTargets(dataset, metric).filter(isAbout));
}

/** The directions by which the changes in a table are coloured: those of its totals, its times and its groups. */
export function colouredBetters(
  dataset: Pick<Dataset, 'targets'>,
  table: Coloured & Pick<Table, 'totals'>,
  metric: string,
): ReadonlySet<Better> {
  if (table.unsplit) return new Set();
  const dimensions = collectDimensions(table);
  const named = filterTargets(dataset, metric).filter(
    ({ where }) => dimensions.length === 1 && where?.dimension === dimensions[0],
  );
  return new Set(
    [
      betterOfRow(dataset, table, metric, {}),
      table.totals === undefined ? undefined : findBetter(dataset, table, metric),
      ...named.map(({ better }) => better),
    ].filter((better) => better !== undefined),
  );
}

/** Whether changes of a metric in a table are coloured by this direction and no other. */
export const isBetterMeant = (...[dataset, table, metric, better]: [...Parameters<typeof colouredBetters>, Better]) => {
  const betters = colouredBetters(dataset, table, metric);
  return betters.size === 1 && betters.has(better);
};

/** Whether a change is good; undefined if nothing changed, or if no direction is better. */
export const changeIsGood = (
  better: Better | undefined,
  direction: 'up' | 'down' | 'same' | null,
): boolean | undefined =>
  better === undefined || direction === null || direction === 'same'
    ? undefined
    : (direction === 'up') === (better === 'higher');
