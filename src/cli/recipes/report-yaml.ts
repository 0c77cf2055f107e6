import { parse } from 'yaml';
import { z } from 'zod';
import { balanceBidiControls, toSingleLine } from '../../base/text/bidi.ts';
import { type Catalog, isCurrentCount } from '../../contract/catalog.ts';
import { MAX_SPLIT_VALUES } from '../../definitions/schema/split.ts';
import { fillLines, RECIPES, type RecipeName, readRecipe } from './recipe.ts';
import { scalar, targetsHint } from './suggested-targets.ts';

/** What a report needs besides its recipe. */
export interface ReportOptions {
  /** The name of the file without its extension. */
  readonly report: string;
  /** Default: the title in the recipe. */
  readonly title?: string | undefined;
  readonly owner: string;
  /** At least one recipient. */
  readonly to: readonly string[];
  /** A folder that the organization allows for deliveries. Absent: none is known. */
  readonly folder?: string | undefined;
  /** Who may approve: keys of `people`. Absent or empty: the owner's account. */
  readonly approvers?: readonly string[] | undefined;
  /** Whether `org.yaml` has units. */
  readonly hasUnits?: boolean;
  /**
   * Whether the organization's weeks start on another day than Monday, on which the service's weeks start. Weekly rows
   * are then refused.
   */
  readonly withoutWeeks?: boolean;
  /** Seconds after the end of a day until its figures are complete (`data_ready`). Absent: Docket's default. */
  readonly dataReady?: number | undefined;
}

export interface NewReport {
  readonly text: string;
  /** Ids of its sections. */
  readonly sections: readonly string[];
  /** Metrics of the recipe that are missing in the catalog, and therefore in the report. */
  readonly leftOut: readonly string[];
}

/** Recipes with `prepare` start to prepare at six o'clock. */
const PREPARED_BELOW_S = 6 * 3600;

/** A section of a recipe or report is a paragraph. The first section follows a heading. */
const SECTION = /(?:^ {2}# .*\n)+ {2}- id: (?:.+\n)+/gm;
const sectionSchema = z.object({
  id: z.string(),
  metrics: z.array(z.string()),
  dimensions: z.array(z.string()).default([]),
  granularity: z.enum(['day', 'week', 'month']).optional(),
  order: z.tuple([z.object({ by: z.string() })]).optional(),
  safe: z.boolean().default(false),
  current: z.boolean().default(false),
});
const parseSection = (text: string) => z.tuple([sectionSchema]).parse(parse(text))[0];

/**
 * The file of a report: the sections of the recipe that the catalog supports, and comments about further metrics.
 * Without a catalog, it has the sections that every organization can have. There is always a section: if the catalog
 * has none of the recipe's metrics, it contains the catalog's first metrics. A catalog without any metric is ignored.
 */
export function reportYaml(name: RecipeName, options: ReportOptions, catalog: Catalog | undefined): NewReport {
  const { owner, to, approvers = [], title = RECIPES[name].title } = options;
  const isApproved = name === 'approved-pack';
  const isSplit = name === 'desks';
  const recipe = fillLines(readRecipe(`${isApproved ? 'board-pack' : name}.yaml`), {
    title: [scalar(title)],
    owner: [scalar(owner)],
    to: to.map((address) => scalar(address)),
    subject: [scalar(`${isSplit ? '{{ split.label }}: ' : ''}${title} {{ period.label }}`, 'QUOTE_DOUBLE')],
    path: [
      scalar(
        `${options.folder ?? 'out'}/${options.report}/${isSplit ? '{{ split.slug }}/' : ''}{{ period.label }}`,
        'QUOTE_DOUBLE',
      ),
    ],
    desk: splitValues(catalog).map(
      (value) => `${scalar(value, 'QUOTE_DOUBLE')}: [${to.map((address) => scalar(address)).join(', ')}]`,
    ),
    units: options.hasUnits ? [''] : [],
    approved: isApproved ? [''] : [],
    approver: isApproved ? (approvers.length === 0 ? [owner] : approvers).map((id) => scalar(id)) : [],
  });
  const wished = (recipe.match(SECTION) ?? []).map((text) =>
    options.withoutWeeks ? text.replace('granularity: week', 'granularity: day') : text,
  );
  const fitted = fitSections(wished, catalog);
  const written = fitted.map(writeSection);
  const sections = written.map(parseSection);
  const [start = '', ...rest] = recipe.split(SECTION);
  const prepares = (options.dataReady ?? 0) < PREPARED_BELOW_S && fitted.some((text) => !parseSection(text).current);
  const used = sections.flatMap(({ metrics }) => metrics);
  const all = new Set(wished.flatMap((text) => parseSection(text).metrics));
  return {
    text: `${prepares ? start : start.replace(', prepare: 1h }', ' }').replace(/; fetched from .*/, '')}${written.join('\n')}${rest.at(-1) ?? ''}${targetsHint(used, catalog)}${otherMetrics(used, catalog)}`,
    sections: sections.map(({ id }) => id),
    leftOut: catalog === undefined ? [] : [...all].filter((id) => !used.includes(id)),
  };
}

/** Removes the fields that only recipes have. The last two metrics become an example. */
const writeSection = (text: string): string =>
  fillLines(text.replace(/^ {4}(safe|current): true\n/gm, ''), {
    last: [parseSection(text).metrics.slice(-2).join(', ')],
  });

function fitSections(wished: readonly string[], catalog: Catalog | undefined): readonly string[] {
  const safe = wished.filter((text) => parseSection(text).safe);
  if (catalog === undefined) return safe;
  const fitting = wished.flatMap((text) => fitToCatalog(text, catalog) ?? []);
  if (fitting.length > 0) return fitting;
  const timed = catalog.metrics.filter((metric) => !isCurrentCount(metric));
  const own = (timed.length > 0 ? timed : catalog.metrics).slice(0, 5);
  return own.length === 0 ? safe : [ownSection(own, timed.length > 0)];
}

const ownSection = (metrics: Catalog['metrics'], totals: boolean): string =>
  `  # The first metrics of your catalog: choose your own from the list below.
  - id: figures
    title: Figures
    metrics:
${metrics.map(({ id }) => `      - ${scalar(id)}\n`).join('')}${totals ? '    totals: true\n' : '    current: true\n'}`;

/**
 * The section with the metrics, dimensions, granularity and order that the catalog allows. Undefined if it has no
 * metric.
 */
function fitToCatalog(text: string, { metrics: known, dimensions: listed, limits }: Catalog): string | undefined {
  const wish = parseSection(text);
  const metrics = wish.metrics
    .flatMap((wished) => known.find(({ id }) => id === wished) ?? [])
    .filter((metric) => metric.deprecated_at == null && isCurrentCount(metric) === wish.current);
  if (metrics.length === 0) return undefined;
  const dimensions = wish.dimensions
    .filter(
      (wished) =>
        listed.some(({ id }) => id === wished) && metrics.every((metric) => metric.dimensions.includes(wished)),
    )
    .slice(0, limits.max_dimensions);
  const { granularity, order } = wish;
  const hasBuckets = granularity === undefined || metrics.every((metric) => metric.granularities.includes(granularity));
  const ids = [...metrics.map(({ id }) => id), ...dimensions];
  const refused = [
    ...(dimensions.length > 0 ? [] : ['dimensions']),
    ...(hasBuckets ? [] : ['granularity']),
    ...(order !== undefined && metrics.some(({ id }) => id === order[0].by) ? [] : ['order']),
    // The chart needs all axes. With fewer, there may be nothing to draw.
    ...(hasBuckets && dimensions.length === wish.dimensions.length ? [] : ['chart']),
  ];
  return text.replace(/^ {4}(?:(\w+):.*| {2}- (\S+))\n/gm, (line, field?: string, id?: string) =>
    (field === undefined ? ids.includes(id ?? '') : !refused.includes(field)) ? line : '',
  );
}

/** The values that get a pack: those in the catalog, or an example. */
function splitValues(catalog: Catalog | undefined): readonly string[] {
  const values = catalog?.dimensions.find(({ id }) => id === 'profile.group')?.values ?? [];
  return values.length === 0 ? ['Retail'] : values.slice(0, MAX_SPLIT_VALUES).map(({ value }) => value);
}

const MAX_LISTED_METRICS = 100;

/** Further metrics of the key, as comments. Their labels are external text, and must not end the comment. */
function otherMetrics(used: readonly string[], catalog: Catalog | undefined): string {
  if (catalog === undefined) {
    return '\n# Written without the metric catalog: `docket check` reports metrics that your API key cannot read.\n';
  }
  const others = catalog.metrics.filter(({ id, deprecated_at }) => !used.includes(id) && deprecated_at == null);
  if (others.length === 0) return '';
  const lines = others
    .slice(0, MAX_LISTED_METRICS)
    .map(({ id, label }) => `#   ${oneLine(id).padEnd(46)} ${oneLine(label)}`.trimEnd());
  return `\n# More metrics of this API key (${catalog.metrics.length} in all):\n${lines.join('\n')}\n`;
}

const oneLine = (text: string): string =>
  balanceBidiControls(toSingleLine(text.replace(/\p{Cs}+/gu, ' ')).slice(0, 120));
