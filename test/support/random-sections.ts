import fc from 'fast-check';
import { type Catalog, isCurrentCount } from '../../src/contract/catalog.ts';
import type { SectionInput } from './reports.ts';

/** Sections that this catalog allows, in two shapes per report and of single rows, so that many of them could share calls. */
export function sectionsOf(catalog: Catalog): fc.Arbitrary<SectionInput[]> {
  const shape = fc.record({
    current: fc.boolean(),
    dimensions: fc.constantFrom<string[][]>(
      [],
      [],
      [],
      ['profile.type'],
      ['profile.group'],
      ['profile.type', 'profile.risk'],
    ),
    granularity: fc.constantFrom(undefined, 'day' as const, 'week' as const, 'month' as const),
    filter: fc.constantFrom<(string[] | undefined)[]>(undefined, undefined, ['high', 'severe']),
    limit: fc.constantFrom(undefined, undefined, 3),
    order: fc.constantFrom(undefined, undefined, 'bucket', 'metric'),
    dir: fc.constantFrom('asc' as const, 'desc' as const),
  });
  // A section without rows, which can be a scorecard with a trend.
  const single = fc.record({
    current: fc.constant(false),
    dimensions: fc.constant<string[]>([]),
    granularity: fc.constant(undefined),
    filter: fc.constantFrom<(string[] | undefined)[]>(undefined, ['high', 'severe']),
    limit: fc.constant(undefined),
    order: fc.constant(undefined),
    dir: fc.constant('asc' as const),
  });
  const section = fc.record({
    shape: fc.nat(2),
    picks: fc.array(fc.nat(100), { minLength: 1, maxLength: 4 }),
    totals: fc.boolean(),
    trend: fc.constantFrom(undefined, 2, 6),
  });
  return fc
    .record({ shapes: fc.tuple(shape, shape, single), sections: fc.array(section, { minLength: 2, maxLength: 6 }) })
    .map(({ shapes, sections }) =>
      sections.flatMap((one, index): SectionInput[] => {
        const { current, dimensions, granularity, filter, limit, order, dir } = shapes[one.shape]!;
        const needed = [...dimensions, ...(filter === undefined ? [] : ['profile.risk'])];
        const fitting = catalog.metrics.filter(
          (metric) =>
            isCurrentCount(metric) === current &&
            needed.every((id) => metric.dimensions.includes(id)) &&
            (current || granularity === undefined || metric.granularities.includes(granularity)),
        );
        if (fitting.length === 0) return [];
        const metrics = [...new Set(one.picks.map((pick) => fitting[pick % fitting.length]!.id))];
        const bucketed = !current && granularity !== undefined;
        const isCard = !current && !bucketed && dimensions.length === 0;
        const by = order === 'metric' ? metrics[0] : order === 'bucket' && bucketed ? 'bucket' : undefined;
        return [
          {
            id: `s${index}`,
            metrics,
            ...(dimensions.length === 0 ? {} : { dimensions }),
            ...(bucketed ? { granularity } : {}),
            ...(filter === undefined ? {} : { filters: [{ dimension: 'profile.risk', op: 'in', values: filter }] }),
            ...(by === undefined ? {} : { order: [{ by, dir }] }),
            ...(limit === undefined ? {} : { limit }),
            totals: one.totals,
            ...(isCard && one.trend !== undefined ? { layout: 'scorecard', trend: one.trend } : {}),
          },
        ];
      }),
    );
}
