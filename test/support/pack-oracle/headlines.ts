import type { LabelOf } from './checked.ts';
import { type Compared, type Days, lengthOf } from './days.ts';
import { type ExpectedSection, type Figure, isFew, isFewChange, type RawFilter } from './expected.ts';
import { endOf, type Judged } from './judged.ts';

// Which headlines there are and their order, written from the contract only. It uses nothing of src/.

type TimedSection = Pick<ExpectedSection, 'range' | 'read'>;

/** A key that is equal for days that give the same figure. A reading belongs to the last day. */
const timeKey = ({ read }: TimedSection, days: Days | undefined): unknown =>
  days === undefined ? 'now' : read === true ? ['read', days.to] : [days.from, days.to];

const isOwnTime = ({ read }: TimedSection, days: Days | undefined, period: Days): boolean =>
  days === undefined || (days.to === period.to && (read === true || days.from === period.from));

/** Whether a figure covers fewer days than the period. A reading covers one day. */
const isShorter = (section: TimedSection, days: Days | undefined, period: Days): boolean =>
  days !== undefined &&
  !isOwnTime(section, days, period) &&
  (section.read === true ? 1 : lengthOf(days)) < lengthOf(period);

/** Whether the totals of a section can be a headline figure. */
export const mayBeTile = (section: ExpectedSection, period: Days): boolean =>
  !isShorter(section, section.range, period);

/** A key that is equal for the same totals in two sections. */
export const totalKey = (section: ExpectedSection, metric: string, value: number | null): string =>
  JSON.stringify([metric, timeKey(section, section.range), section.filters.map(written), value]);

interface Change {
  readonly before: number;
  readonly kind: Compared;
  /** The range of the section. Readings of one day may be compared with several days. */
  readonly range: Days | undefined;
}

/** The report's own period and scope, another scope, or fewer days than the period. */
const PLACES = ['own', 'other', 'shorter'] as const;
type Place = (typeof PLACES)[number];

/** The content of a headline. */
export interface Said {
  readonly metric: string;
  readonly label: string;
  readonly value: number;
  readonly unit: string | null;
  readonly judged: (Pick<Judged, 'status' | 'soFar' | 'few'> & { readonly target: number }) | undefined;
  readonly changes: readonly Change[];
  /** A key that is equal for the same figure in two sections. */
  readonly key: string;
  readonly place: Place;
  /** The title of the section, if another section shows a different value for the same figure. */
  readonly section: string | undefined;
  /** The labels of the values in its scope; empty for the report's own scope. */
  readonly values: readonly string[];
}

function changesOf(section: ExpectedSection, figure: Figure): Change[] {
  const [kind] = section.kinds;
  if (kind === undefined || figure.provisional) return [];
  const other = figure.others[kind];
  if (other === undefined || other.value === null || !other.comparable || !other.like) return [];
  // A count already shows how few cases it has.
  if (figure.unit !== 'count' && isFewChange(figure, kind)) return [];
  return [{ before: other.value, kind, range: section.range }];
}

type Group = { readonly dimension: string; readonly value: string } | undefined;

/** The filters and the group, with each dimension once. */
function scopeOf(filters: readonly RawFilter[], group: Group): RawFilter[] {
  const others = filters.filter(({ dimension }) => dimension !== group?.dimension);
  return group === undefined ? others : [...others, { dimension: group.dimension, op: 'in', values: [group.value] }];
}
const written = ({ dimension, op, values }: RawFilter): string =>
  JSON.stringify([dimension, op === 'not_in', [...values].sort()]);

const changeKey = ({ kind, range, before }: Change): string =>
  JSON.stringify(kind === 'previous_year' ? [kind, before] : [kind, range]);

/** Each figure once, with everything that any section says about it. */
function distinct(all: readonly Said[]): Said[] {
  const found = new Map<string, Said>();
  for (const said of all) {
    const key = JSON.stringify([said.key, said.value]);
    const known = found.get(key);
    const more = said.changes.filter((one) => known?.changes.every((each) => changeKey(each) !== changeKey(one)));
    const judged = known?.judged ?? said.judged;
    found.set(key, known === undefined ? said : { ...known, judged, changes: [...known.changes, ...more] });
  }
  return [...found.values()];
}

/** What a section may say: its totals, and its judged rows of the present. */
export function saidBy(
  section: ExpectedSection,
  sections: readonly ExpectedSection[],
  judged: readonly Judged[],
  period: Days,
  labelOf: LabelOf,
): Said[] {
  const scopes = sections.map(({ filters }) => scopeOf(filters, undefined).map(written));
  const isShared = (filter: RawFilter): boolean => scopes.every((scope) => scope.includes(written(filter)));
  const { range, filters, granularity, dimensions } = section;
  return section.metrics.flatMap(({ id, label, unit }): Said[] => {
    const own = judged.filter((one) => one.section === section.id && one.metric === id);
    const ofTotal = own.find(({ bucket, group }) => bucket === null && group === null);
    const single = dimensions.length === 0 && granularity === undefined;
    const figures = section.total ?? (single ? section.rows[0]?.figures : undefined);
    const of = (value: number, changes: readonly Change[], one: Judged | undefined): Said => {
      const { bucket = null, group = null } = one ?? {};
      const scope = scopeOf(
        filters,
        group === null ? undefined : { dimension: one?.target.where?.dimension ?? '', value: group },
      );
      const last = bucket === null ? range?.to : endOf(bucket, granularity ?? 'day');
      const days =
        range === undefined || last === undefined
          ? undefined
          : {
              from: bucket === null || bucket < range.from ? range.from : bucket,
              to: last > range.to ? range.to : last,
            };
      const others = scope.filter((filter) => !isShared(filter));
      return {
        metric: id,
        label,
        unit,
        value,
        changes,
        judged: one && { target: one.target.target, status: one.status, soFar: one.soFar, few: one.few },
        key: JSON.stringify([id, timeKey(section, days), scope.map(written).sort()]),
        place: isShorter(section, days, period)
          ? 'shorter'
          : isOwnTime(section, days, period) && others.length === 0
            ? 'own'
            : 'other',
        section: section.id.toUpperCase(),
        values: others.flatMap(({ dimension, values }) => values.map((each) => labelOf(dimension, each))),
      };
    };
    const figure = figures?.[id];
    const total =
      figure === undefined || figure.now === null ? [] : [of(figure.now, changesOf(section, figure), ofTotal)];
    // In a series only the last bucket is the present, and none if the total says the same.
    const rows = own.filter((one) => {
      if (one === ofTotal || one.figure === null) return false;
      if (one.bucket === null) return true;
      const series = own.filter(({ group }) => group === one.group);
      return (
        !series.some(({ bucket }) => bucket === null) &&
        series.every(({ bucket }) => (bucket ?? '') <= (one.bucket ?? ''))
      );
    });
    return [...total, ...rows.map((one) => of(one.figure ?? 0, [], one))];
  });
}

const severity = ({ judged: one }: Said): number =>
  one?.few ? 2 : one?.status === 'breached' ? 0 : one?.status === 'watch' ? 1 : 2;
export const isBehind = (said: Said): boolean => severity(said) < 2;

/**
 * The headlines in their order. The caller keeps the first five.
 * @param period of the report
 */
export const headlinesOf = (
  sections: readonly ExpectedSection[],
  judged: readonly Judged[],
  wanted: readonly string[] | undefined,
  period: Days,
  labelOf: LabelOf,
): Said[] =>
  inOrder(distinct(sections.flatMap((section) => saidBy(section, sections, judged, period, labelOf))), wanted);

/** The numbers of figures with few cases that are breached and on watch. */
export function fewStatuses(
  sections: readonly ExpectedSection[],
  judged: readonly Judged[],
  period: Days,
): Readonly<Record<'breached' | 'watch', number>> {
  const all = distinct(sections.flatMap((section) => saidBy(section, sections, judged, period, () => '')));
  const count = (status: string) => all.filter((one) => one.judged?.few && one.judged.status === status).length;
  return { breached: count('breached'), watch: count('watch') };
}

/** @param figures each once; figures that are no headline are dropped */
export function inOrder(figures: readonly Said[], wanted: readonly string[] | undefined): Said[] {
  // A change with few cases does not count.
  const size = ({ value, unit, changes }: Said): number =>
    Math.max(
      0,
      ...changes.map(({ before }) =>
        before === value || (unit === 'count' && isFew(value, before)) ? 0 : Math.abs((value - before) / before),
      ),
    );
  const order = figures
    .filter(({ place }) => place !== 'shorter')
    .map((said, at) => ({ said, at }))
    .sort((a, b) => {
      const place = PLACES.indexOf(a.said.place) - PLACES.indexOf(b.said.place);
      if (place !== 0) return place;
      const [x, y] = [severity(a.said), severity(b.said)];
      if (x !== y) return x - y;
      if (x === 2 && size(a.said) !== size(b.said)) return size(b.said) > size(a.said) ? 1 : -1;
      return a.at - b.at;
    })
    .map(({ said }) => said);
  const isNews = (said: Said): boolean =>
    severity(said) < 2 || (said.place === 'own' && size(said) > 0 && Number.isFinite(size(said)));
  const chosen =
    wanted === undefined
      ? order.filter(isNews)
      : wanted.flatMap((metric) => order.find((said) => said.metric === metric) ?? []);
  return chosen.map((said) => ({
    ...said,
    section: figures.filter(({ key }) => key === said.key).length > 1 ? said.section : undefined,
  }));
}
