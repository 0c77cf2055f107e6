import { type Catalog, type Dimension, isCurrentCount, type Metric } from '../contract/catalog.ts';
import type { Definition, MetricsSection, Section } from '../define/definition.ts';
import { didYouMean } from '../define/nearest.ts';

/** One thing the service would refuse, found before a token is spent. */
export interface PlanFault {
  /** Into the definition, e.g. `['sections', 2, 'metrics', 1]`: the YAML reader turns it into line and column. */
  readonly path: readonly (string | number)[];
  /** What would have been right, as a phrase. */
  readonly expected: string;
  readonly got: string;
  /** What to do, as an imperative sentence. */
  readonly next: string;
}

type Path = PlanFault['path'];

const quoted = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(', ');

/** At most `max` of the words, and how many more there are. */
const some = (words: readonly string[], max = 12): string =>
  words.length <= max ? quoted(words) : `${quoted(words.slice(0, max))} and ${words.length - max} more`;

const meant = (word: string, known: readonly string[], otherwise: string): string => {
  const near = didYouMean(word, known);
  return near === undefined ? otherwise : `${near.charAt(0).toUpperCase()}${near.slice(1)}`;
};

/** The advice for what the catalog has, but describes in a way that cannot be read. */
function unreadable(id: string, { unread = [] }: Catalog): string | undefined {
  const odd = unread.find((candidate) => candidate.id === id);
  return odd && `The catalog has it, but Docket cannot read its description (${odd.why}): report it to the service.`;
}

/**
 * Everything in the definition that this organization's catalog does not allow (specification §2.4–2.7), in the order
 * of the file; empty when all of it may be asked. What needs no catalog (repetitions, sorting by a column that is not
 * there) was refused when the definition was read. Pure.
 */
export const checkAgainstCatalog = (definition: Definition, catalog: Catalog): PlanFault[] => [
  ...findPlanFaults(definition, catalog),
];

/** The same, one after the other: whoever wants the first ones alone does not pay for the advice of the others. */
export function* findPlanFaults(definition: Definition, catalog: Catalog): Generator<PlanFault> {
  const metrics = new Map(catalog.metrics.map((metric) => [metric.id, metric]));
  const dimensions = new Map(catalog.dimensions.map((dimension) => [dimension.id, dimension]));
  const known = { catalog, metrics, dimensions };
  for (const [index, section] of definition.sections.entries()) {
    const asked = section.metrics;
    if (asked !== undefined) yield* checkSection({ ...section, metrics: asked }, ['sections', index], known);
  }
}

interface Known {
  readonly catalog: Catalog;
  readonly metrics: ReadonlyMap<string, Metric>;
  readonly dimensions: ReadonlyMap<string, Dimension>;
}

function* checkSection(section: MetricsSection, at: Path, known: Known): Generator<PlanFault> {
  const asked = section.metrics.flatMap((id) => known.metrics.get(id) ?? []);
  yield* checkMetrics(section, at, known);
  yield* checkTime(section, at, asked);
  yield* checkDimensions(section, at, known, asked);
  yield* checkFilters(section, at, known, asked);
  yield* checkLimit(section, at, known);
}

function* checkMetrics(section: MetricsSection, at: Path, { metrics, catalog }: Known): Generator<PlanFault> {
  for (const [index, id] of section.metrics.entries()) {
    if (metrics.has(id)) continue;
    yield {
      path: [...at, 'metrics', index],
      expected: "a metric of the organization's catalog",
      got: `"${id}"`,
      next:
        unreadable(id, catalog) ??
        meant(id, [...metrics.keys()], 'Run `docket check` online, or ask the catalog, to see which there are.'),
    };
  }
}

function checkTime(section: MetricsSection, at: Path, asked: readonly Metric[]): PlanFault[] {
  const current = asked.filter(isCurrentCount);
  const [first] = current;
  const faults: PlanFault[] = [];
  if (section.granularity !== undefined && first !== undefined) {
    faults.push({
      path: [...at, 'granularity'],
      expected: 'no granularity with a current count, which is the state now',
      got: `"${section.granularity}" with ${quoted(current.map(({ id }) => id))}`,
      next: 'Leave "granularity" out, or move the current counts into a section of their own.',
    });
  } else if (first !== undefined && current.length < asked.length) {
    faults.push({
      path: [...at, 'metrics', section.metrics.indexOf(first.id)],
      expected: 'current counts in a section of their own: the period does not apply to them',
      got: `${quoted(current.map(({ id }) => id))} beside metrics of a period`,
      next: 'Move the current counts into a section of their own.',
    });
  }
  const { granularity } = section;
  if (granularity === undefined) return faults;
  section.metrics.forEach((id, index) => {
    const metric = asked.find((candidate) => candidate.id === id);
    if (metric === undefined || isCurrentCount(metric) || metric.granularities.includes(granularity)) return;
    faults.push({
      path: [...at, 'metrics', index],
      expected: `a metric that can be read by ${granularity}`,
      got: `"${id}", which takes ${metric.granularities.length === 0 ? 'no granularity' : quoted(metric.granularities)}`,
      next: 'Use a granularity it takes, or move the metric into a section of its own.',
    });
  });
  return faults;
}

/** The dimensions that all of the metrics accept. */
function accepted(asked: readonly Metric[], known: Known): string[] {
  return known.catalog.dimensions
    .map(({ id }) => id)
    .filter((id) => asked.every((metric) => metric.dimensions.includes(id)));
}

function checkDimension(id: string, path: Path, known: Known, asked: readonly Metric[]): PlanFault[] {
  if (!known.dimensions.has(id)) {
    return [
      {
        path,
        expected: "a dimension of the organization's catalog",
        got: `"${id}"`,
        next:
          unreadable(id, known.catalog) ??
          meant(id, [...known.dimensions.keys()], `Use one of ${some([...known.dimensions.keys()])}.`),
      },
    ];
  }
  const refusing = asked.filter((metric) => !metric.dimensions.includes(id));
  if (refusing.length === 0) return [];
  const allowed = accepted(asked, known);
  return [
    {
      path,
      expected:
        allowed.length === 0
          ? 'no dimension: these metrics share none'
          : `a dimension that every metric of the section accepts: ${some(allowed)}`,
      got: `"${id}", which ${quoted(refusing.map((metric) => metric.id))} ${refusing.length === 1 ? 'does' : 'do'} not accept`,
      next: 'Use an accepted dimension, or move these metrics into a section of their own.',
    },
  ];
}

function checkDimensions(section: Section, at: Path, known: Known, asked: readonly Metric[]): PlanFault[] {
  const dimensions = section.dimensions ?? [];
  const { max_dimensions } = known.catalog.limits;
  const faults = dimensions.flatMap((id, index) => checkDimension(id, [...at, 'dimensions', index], known, asked));
  if (dimensions.length > max_dimensions) {
    faults.push({
      path: [...at, 'dimensions'],
      expected: `at most ${max_dimensions} dimensions`,
      got: `${dimensions.length}`,
      next: 'Remove some, or make two sections.',
    });
  }
  return faults;
}

function* checkFilters(section: Section, at: Path, known: Known, asked: readonly Metric[]): Generator<PlanFault> {
  for (const [index, filter] of (section.filters ?? []).entries()) {
    const path: Path = [...at, 'filters', index];
    yield* checkDimension(filter.dimension, [...path, 'dimension'], known, asked);
    const dimension = known.dimensions.get(filter.dimension);
    if (dimension === undefined) continue;
    const taken = dimension.values.map(({ value }) => value);
    const takes = new Set(taken);
    for (const [position, value] of filter.values.entries()) {
      if (takes.has(value)) continue;
      // People write what they see: the label. The value that has it is what they meant.
      const labelled = dimension.values.find(({ label }) => label.toLowerCase() === value.toLowerCase());
      yield {
        path: [...path, 'values', position],
        expected: `a value that "${filter.dimension}" takes: ${some(taken)}`,
        got: `"${value}"`,
        next:
          labelled === undefined
            ? meant(value, taken, 'Use one of the values above.')
            : `Write "${labelled.value}": "${labelled.label}" is its label.`,
      };
    }
  }
}

function checkLimit(section: Section, at: Path, { catalog }: Known): PlanFault[] {
  const { max_rows } = catalog.limits;
  if (section.limit === undefined || section.limit <= max_rows) return [];
  return [
    {
      path: [...at, 'limit'],
      expected: `at most ${max_rows} rows`,
      got: `${section.limit}`,
      next: 'Lower the limit.',
    },
  ];
}
