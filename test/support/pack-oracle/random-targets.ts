import { type Catalog, isCurrentCount } from '../../../src/contract/catalog.ts';
import type { AskedSection, ExpectedSection } from './expected.ts';
import type { GivenTarget } from './judged.ts';
import { type PackDraft, pick } from './random-packs.ts';

// The targets of random reports, close to the figures that they judge.

/** The targets of a draft in the raw unit, some exactly on a judged figure. */
export function givenTargets(one: PackDraft, sections: readonly ExpectedSection[], catalog: Catalog): GivenTarget[] {
  const ids = metricIds(sections);
  const given = new Map<string, GivenTarget>();
  for (const { metric: at, share, watch, per, where, from, better, report } of one.targets) {
    const metric = pick(ids, at);
    const known = catalog.metrics.find(({ id }) => id === metric);
    if (known === undefined || (where !== undefined && !known.dimensions.includes(where.dimension))) continue;
    if (per !== undefined && (isCurrentCount(known) || known.unit !== 'count')) continue;
    const figures = sections.flatMap(({ total, rows }) => [total?.[metric]?.now, rows[0]?.figures[metric]?.now]);
    const size = (figures.find((value) => typeof value === 'number') ?? 1) * share;
    const target = known.unit === 'ratio' ? Math.min(1, size) : size;
    const limit =
      watch === undefined
        ? undefined
        : target + (better === 'higher' ? -1 : 1) * (known.unit === 'ratio' ? watch / 10 : 1 + target * watch);
    const fits = limit === undefined || (limit >= 0 && (known.unit !== 'ratio' || limit <= 1));
    const key = JSON.stringify([metric, where, per, from, report]);
    given.set(key, { metric, better, target, watch: fits ? limit : undefined, per, where, from, report });
  }
  return [...given.values()];
}

/** The targets as a file writes them. */
export const writtenTargets = (targets: readonly GivenTarget[]): unknown[] =>
  targets.map(({ report: _, where, watch, per, from, ...rest }) => ({
    ...rest,
    ...(watch === undefined ? {} : { watch }),
    ...(per === undefined ? {} : { per }),
    ...(from === undefined ? {} : { from }),
    ...(where === undefined ? {} : { where: { [where.dimension]: where.value } }),
  }));

export const metricIds = (sections: readonly AskedSection[]): string[] => [
  ...new Set(sections.flatMap(({ metrics }) => metrics.map(({ id }) => id))),
];
