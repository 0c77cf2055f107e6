import { type Catalog, type Dimension, isCurrentCount, type Metric } from '../../contract/catalog.ts';
import type { DiagnosticText } from '../../definitions/diagnostics/diagnostic.ts';
import { didYouMean } from '../../definitions/diagnostics/suggest.ts';
import { metricPath } from '../../definitions/schema/layout.ts';
import type { ReadingSettings } from '../../definitions/schema/readings.ts';
import type { Definition, MetricsSection, Section } from '../../definitions/schema/report-definition.ts';
import type { ValuePath } from '../../definitions/yaml/source-file.ts';
import { readingAdvice, readingGap } from '../reading.ts';

/** A request error that the service would return, found before a token is spent. */
export interface PlanDiagnostic extends Omit<DiagnosticText, 'message'> {
  /** ValuePath in the definition, e.g. `['sections', 2, 'metrics', 1]`. `locate` converts it to line and column. */
  readonly path: ValuePath;
}

export const quoted = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(', ');

/** Quotes at most `max` of the words, and says how many more there are. */
const quoteSome = (words: readonly string[], max = 12): string =>
  words.length <= max ? quoted(words) : `${quoted(words.slice(0, max))} and ${words.length - max} more`;

/** Suggests the known word that was probably meant, otherwise this advice. */
export const suggestion = (word: string, known: Iterable<string>, otherwise: string): string => {
  const match = didYouMean(word, known);
  return match === undefined ? otherwise : `${match.charAt(0).toUpperCase()}${match.slice(1)}`;
};

/** The advice for an id that is in the catalog, but with a description that cannot be read. */
function unreadableHint(id: string, { unread = [] }: Catalog): string | undefined {
  const odd = unread.find((candidate) => candidate.id === id);
  return odd && `The catalog has it, but Docket cannot read its description (${odd.why}): report it to the service.`;
}

/**
 * Yields everything in the definition that this organization's catalog does not allow (specification §2.4–2.7), in the
 * order of the file. Errors that need no catalog (repetitions, sorting by a missing column) were reported when the
 * definition was read. It is a generator, so that a caller that needs only the first ones does not pay for the others.
 * Pure.
 */
export function* findCatalogDiagnostics(
  definition: Definition,
  catalog: Catalog,
  readings?: ReadingSettings,
): Generator<PlanDiagnostic> {
  const metrics = new Map(catalog.metrics.map((metric) => [metric.id, metric]));
  const dimensions = new Map(catalog.dimensions.map((dimension) => [dimension.id, dimension]));
  const known = { org: definition.org, catalog, metrics, dimensions, readings };
  for (const [index, section] of definition.sections.entries()) {
    const requested = section.metrics;
    if (requested !== undefined) yield* checkSection({ ...section, metrics: requested }, ['sections', index], known);
  }
}

interface CatalogIndex {
  readonly org: string;
  readonly catalog: Catalog;
  readonly metrics: ReadonlyMap<string, Metric>;
  readonly dimensions: ReadonlyMap<string, Dimension>;
  /** The organization's readings of current counts. */
  readonly readings: ReadingSettings | undefined;
}

function* checkSection(section: MetricsSection, at: ValuePath, known: CatalogIndex): Generator<PlanDiagnostic> {
  const requested = section.metrics.flatMap((id) => known.metrics.get(id) ?? []);
  yield* checkMetrics(section, at, known);
  yield* checkTime(section, at, requested, known.readings);
  yield* checkDimensions(section, at, known, requested);
  yield* checkFilters(section, at, known, requested);
  yield* checkLimit(section, at, known);
}

function* checkMetrics(
  section: MetricsSection,
  at: ValuePath,
  { org, metrics, catalog }: CatalogIndex,
): Generator<PlanDiagnostic> {
  for (const [index, id] of section.metrics.entries()) {
    if (metrics.has(id)) continue;
    yield {
      path: [...at, ...metricPath(section, index)],
      code: 'catalog.unknown',
      expected: "a metric of the organization's catalog",
      got: `"${id}"`,
      next:
        unreadableHint(id, catalog) ??
        suggestion(id, [...metrics.keys()], `\`docket catalog --org ${org}\` lists them.`),
    };
  }
}

function checkTime(
  section: MetricsSection,
  at: ValuePath,
  requested: readonly Metric[],
  readings: ReadingSettings | undefined,
): PlanDiagnostic[] {
  const current = requested.filter(isCurrentCount);
  const [first] = current;
  const diagnostics: PlanDiagnostic[] = [];
  const mixed = current.length < requested.length;
  const gap = readingGap(section, readings);
  if (section.granularity !== undefined && first !== undefined && (mixed || gap !== undefined)) {
    diagnostics.push({
      path: [...at, 'granularity'],
      expected: 'no granularity with a current count, which is the state now, unless it is read every day',
      got: `"${section.granularity}" with ${quoted(current.map(({ id }) => id))}`,
      next:
        mixed || gap === undefined
          ? 'Move the current counts into a section of their own.'
          : `${readingAdvice(gap)} Or leave "granularity" out.`,
    });
  } else if (first !== undefined && mixed) {
    diagnostics.push({
      path: [...at, ...metricPath(section, section.metrics.indexOf(first.id))],
      expected: 'current counts in a section of their own: the period does not apply to them',
      got: `${quoted(current.map(({ id }) => id))} beside metrics of a period`,
      next: 'Move the current counts into a section of their own.',
    });
  }
  const { granularity } = section;
  if (granularity === undefined) return diagnostics;
  section.metrics.forEach((id, index) => {
    const metric = requested.find((candidate) => candidate.id === id);
    if (metric === undefined || isCurrentCount(metric) || metric.granularities.includes(granularity)) return;
    diagnostics.push({
      path: [...at, ...metricPath(section, index)],
      expected: `a metric that can be read by ${granularity}`,
      got: `"${id}", which takes ${metric.granularities.length === 0 ? 'no granularity' : quoted(metric.granularities)}`,
      next: 'Use a granularity it takes, or move the metric into a section of its own.',
    });
  });
  return diagnostics;
}

/** The dimensions that all of the metrics accept. */
function acceptedDimensions(requested: readonly Metric[], known: CatalogIndex): string[] {
  return known.catalog.dimensions
    .map(({ id }) => id)
    .filter((id) => requested.every((metric) => metric.dimensions.includes(id)));
}

function checkDimension(
  id: string,
  path: ValuePath,
  known: CatalogIndex,
  requested: readonly Metric[],
): PlanDiagnostic[] {
  if (!known.dimensions.has(id)) {
    return [
      {
        path,
        code: 'catalog.unknown',
        expected: "a dimension of the organization's catalog",
        got: `"${id}"`,
        next:
          unreadableHint(id, known.catalog) ??
          suggestion(id, [...known.dimensions.keys()], `Use one of ${quoteSome([...known.dimensions.keys()])}.`),
      },
    ];
  }
  const refusing = requested.filter((metric) => !metric.dimensions.includes(id));
  if (refusing.length === 0) return [];
  const allowed = acceptedDimensions(requested, known);
  return [
    {
      path,
      expected:
        allowed.length === 0
          ? 'no dimension: these metrics share none'
          : `a dimension that every metric of the section accepts: ${quoteSome(allowed)}`,
      got: `"${id}", which ${quoted(refusing.map((metric) => metric.id))} ${refusing.length === 1 ? 'does' : 'do'} not accept`,
      next: 'Use an accepted dimension, or move these metrics into a section of their own.',
    },
  ];
}

function checkDimensions(
  section: Section,
  at: ValuePath,
  known: CatalogIndex,
  requested: readonly Metric[],
): PlanDiagnostic[] {
  const dimensions = section.dimensions ?? [];
  const { max_dimensions } = known.catalog.limits;
  const diagnostics = dimensions.flatMap((id, index) =>
    checkDimension(id, [...at, 'dimensions', index], known, requested),
  );
  if (dimensions.length > max_dimensions) {
    diagnostics.push({
      path: [...at, 'dimensions'],
      expected: `at most ${max_dimensions} dimensions`,
      got: `${dimensions.length}`,
      next: 'Remove some, or make two sections.',
    });
  }
  return diagnostics;
}

function* checkFilters(
  section: Section,
  at: ValuePath,
  known: CatalogIndex,
  requested: readonly Metric[],
): Generator<PlanDiagnostic> {
  for (const [index, filter] of (section.filters ?? []).entries()) {
    const path: ValuePath = [...at, 'filters', index];
    yield* checkDimension(filter.dimension, [...path, 'dimension'], known, requested);
    const dimension = known.dimensions.get(filter.dimension);
    if (dimension === undefined) continue;
    const knownValues = dimension.values.map(({ value }) => value);
    const isKnown = new Set(knownValues);
    for (const [position, value] of filter.values.entries()) {
      if (isKnown.has(value)) continue;
      // If the definition has a value's label, suggests the value.
      const labelled = dimension.values.find(({ label }) => label.toLowerCase() === value.toLowerCase());
      yield {
        path: [...path, 'values', position],
        code: 'catalog.unknown',
        expected: `a value that "${filter.dimension}" takes: ${quoteSome(knownValues)}`,
        got: `"${value}"`,
        next:
          labelled === undefined
            ? suggestion(value, knownValues, 'Use one of the values above.')
            : `Write "${labelled.value}": "${labelled.label}" is its label.`,
      };
    }
  }
}

function checkLimit(section: Section, at: ValuePath, { catalog }: CatalogIndex): PlanDiagnostic[] {
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
