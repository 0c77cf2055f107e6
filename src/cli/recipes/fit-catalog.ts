import { type Catalog, isCurrentCount, type Metric } from '../../contract/catalog.ts';
import type { Recipe, SectionTemplate } from './recipe.ts';

/** A section as it is written into the file. */
export type RecipeSection = Omit<SectionTemplate, 'safe'> & { readonly totals: boolean };

export interface FitOptions {
  /** The organization's weeks do not begin on Monday, as the service's do: weekly rows are refused. */
  readonly withoutWeeks?: boolean;
}

/**
 * The sections of a recipe that this catalog can answer, each with the metrics, the dimensions and the granularity that it
 * allows. Without a catalog: those that every organization has. Never empty: a catalog with none of the recipe's metrics
 * gives one section with its own first ones; one without any metric is as none. Pure.
 */
export function recipeSections(
  { sections }: Recipe,
  catalog: Catalog | undefined,
  { withoutWeeks = false }: FitOptions = {},
): readonly RecipeSection[] {
  const wishes = sections.map((wish) =>
    withoutWeeks && wish.granularity === 'week' ? { ...wish, granularity: 'day' as const } : wish,
  );
  const safe = wishes.filter((wish) => wish.safe).map(toSection);
  if (catalog === undefined) return safe;
  const known = new Map(catalog.metrics.map((metric) => [metric.id, metric]));
  const fitting = wishes.flatMap((wish) => fitToCatalog(wish, known, catalog) ?? []);
  if (fitting.length > 0) return fitting;
  const timed = catalog.metrics.filter((metric) => !isCurrentCount(metric));
  const own = (timed.length > 0 ? timed : catalog.metrics).slice(0, 5).map(({ id }) => id);
  return own.length === 0
    ? safe
    : [
        {
          id: 'figures',
          title: 'Figures',
          why: 'The first metrics of your catalog: choose your own from the list below.',
          metrics: own,
          totals: timed.length > 0,
        },
      ];
}

const hasTotals = ({ current, layout }: SectionTemplate): boolean => current !== true && layout === undefined;

const toSection = (wish: SectionTemplate): RecipeSection => {
  const { safe: _safe, ...rest } = wish;
  return { ...rest, totals: hasTotals(wish) };
};

function fitToCatalog(
  wish: SectionTemplate,
  known: ReadonlyMap<string, Metric>,
  catalog: Catalog,
): RecipeSection | undefined {
  const metrics = wish.metrics
    .flatMap((id) => known.get(id) ?? [])
    .filter((metric) => metric.deprecated_at == null && isCurrentCount(metric) === (wish.current === true));
  const [first] = metrics;
  if (first === undefined) return undefined;
  const listed = new Set(catalog.dimensions.map(({ id }) => id));
  const dimensions = (wish.dimensions ?? [])
    .filter((id) => listed.has(id) && metrics.every((metric) => metric.dimensions.includes(id)))
    .slice(0, catalog.limits.max_dimensions);
  const { granularity } = wish;
  const bucketed = granularity !== undefined && metrics.every((metric) => metric.granularities.includes(granularity));
  const { dimensions: _dimensions, granularity: _granularity, chart, order, layout, ...rest } = toSection(wish);
  // A chart is of what was wished: fewer axes may leave nothing to draw.
  const whole = bucketed === (granularity !== undefined) && dimensions.length === (wish.dimensions?.length ?? 0);
  const ordered = order !== undefined && metrics.some(({ id }) => id === order.by);
  return {
    ...rest,
    metrics: metrics.map(({ id }) => id),
    ...(layout === undefined ? {} : { layout }),
    ...(dimensions.length > 0 ? { dimensions } : {}),
    ...(bucketed ? { granularity } : {}),
    ...(ordered ? { order } : {}),
    ...(chart !== undefined && whole ? { chart } : {}),
  };
}

/** Metrics of the recipe that no section has: the organization may not read them. */
export function leftOutMetrics({ sections }: Recipe, fitted: readonly RecipeSection[]): string[] {
  const used = new Set(fitted.flatMap(({ metrics }) => metrics));
  return [...new Set(sections.flatMap(({ metrics }) => metrics))].filter((id) => !used.has(id));
}
