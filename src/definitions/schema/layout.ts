import { z } from 'zod';
import { lineSchema, printedLineSchema } from './values/primitives.ts';

export const LAYOUTS = ['table', 'scorecard', 'trend', 'exceptions', 'text'] as const;
/** How a section is laid out in the workbook, the PDF and the e-mail. */
export type Layout = (typeof LAYOUTS)[number];

/** The most points of a scorecard's small charts, and the most rows of exceptions. */
const MAX_TREND = 36;
const MAX_TOP = 100;
export const DEFAULT_TOP = 20;
const MAX_GROUPS = 30;

/** The fields of a section that say how it is laid out. */
export const layoutFields = {
  layout: z
    .enum(LAYOUTS)
    .optional()
    .describe(
      'table: rows and columns, the default; scorecard: a row for each metric; trend: a small chart for each metric; exceptions: the rows on watch or breached only; text: the description, or the headlines if there is no description, without figures of its own.',
    ),
  groups: z
    .array(z.strictObject({ title: printedLineSchema(80), metrics: z.array(lineSchema(200)).min(1) }))
    .min(1)
    .max(MAX_GROUPS)
    .optional()
    .describe(
      'Scorecard only: its metrics under subheadings. Metrics that are only in `metrics` come first, without one.',
    ),
  trend: z
    .int()
    .min(2)
    .max(MAX_TREND)
    .optional()
    .describe(
      "Scorecard only: a small chart of the last figures of each metric, this many days, weeks or months, whichever the section's period consists of; the last one ends with the period.",
    ),
  top: z
    .int()
    .min(1)
    .max(MAX_TOP)
    .optional()
    .describe(`Exceptions only: maximum number of rows; ${DEFAULT_TOP} when absent. All rows are in the CSV file.`),
  worst: z
    .int()
    .min(1)
    .max(MAX_TOP)
    .optional()
    .describe('Exceptions only, instead of `top`: this many of the worst judged rows, whatever their status.'),
  print: z.boolean().optional().describe('false keeps the section in the workbook and leaves it out of print and PDF.'),
} as const;

/** What the layout of a section depends on. */
interface LaidOutSection {
  readonly layout?: Layout | undefined;
  readonly groups?: readonly { readonly title: string; readonly metrics: readonly string[] }[] | undefined;
  readonly metrics?: readonly string[] | undefined;
  readonly list?: string | undefined;
  readonly dimensions?: readonly string[] | undefined;
  readonly granularity?: string | undefined;
}

interface LayoutIssue {
  /** Relative to the section. */
  readonly path: (string | number)[];
  readonly message: string;
  readonly params: { readonly next: string };
}

/** The metrics of a section, including those of its groups, in the order of its columns. */
export const sectionMetrics = ({ metrics, groups }: Pick<LaidOutSection, 'metrics' | 'groups'>): string[] => [
  ...(metrics ?? []),
  ...new Set((groups ?? []).flatMap((group) => group.metrics).filter((id) => !metrics?.includes(id))),
];

/**
 * Where a section names a metric, relative to the section.
 * @param index index in `sectionMetrics`
 */
export function metricPath({ groups = [], metrics = [] }: LaidOutSection, index: number): (string | number)[] {
  const id = metrics[index];
  for (const [nth, group] of groups.entries()) {
    const place = id === undefined ? -1 : group.metrics.indexOf(id);
    if (place >= 0) return ['groups', nth, 'metrics', place];
  }
  return ['metrics', index];
}

/** Adds the metrics of a section's groups to its own. */
export const withGroupMetrics = <Section extends LaidOutSection>(
  section: Section,
): Section | (Section & { readonly metrics: string[] }) =>
  section.groups === undefined ? section : { ...section, metrics: sectionMetrics(section) };

/** Gives a trend section without metrics those of the first scorecard. */
export function withScorecardMetrics<Section extends LaidOutSection>(sections: readonly Section[]) {
  const metrics = sections.find(({ layout }) => layout === 'scorecard')?.metrics;
  return sections.map((section) =>
    isTrendOfScorecard(section) && metrics !== undefined ? { ...section, metrics: [...metrics] } : section,
  );
}

export const isTrendOfScorecard = ({ layout, metrics, list }: LaidOutSection): boolean =>
  layout === 'trend' && metrics === undefined && list === undefined;

/** Fields that belong to one layout. */
const FIELDS_OF = { groups: 'scorecard', trend: 'scorecard', top: 'exceptions', worst: 'exceptions' } as const;
/** Fields that have no use in a layout. */
const REFUSED = {
  scorecard: ['dimensions', 'granularity', 'chart', 'list'],
  trend: ['dimensions', 'order', 'limit', 'chart', 'list'],
} as const;
const WHY_REFUSED = {
  scorecard: 'a scorecard has one row for each metric',
  trend: 'a trend shows each metric over time',
} as const;

/**
 * Reports fields of a section that do not fit its layout.
 * @param has whether the section has a field with another value than its default
 */
export function layoutIssues(section: LaidOutSection, has: (name: string) => boolean): LayoutIssue[] {
  const { layout = 'table', groups = [], dimensions = [], granularity, list } = section;
  const issues: LayoutIssue[] = [];
  const add = (path: (string | number)[], message: string, next: string) =>
    issues.push({ path, message, params: { next } });

  for (const [name, owner] of Object.entries(FIELDS_OF)) {
    if (has(name) && layout !== owner) {
      add([name], `no "${name}" here: it belongs to "layout: ${owner}"`, `remove it, or write layout: ${owner}`);
    }
  }
  if (layout === 'scorecard' || layout === 'trend') {
    for (const name of REFUSED[layout]) {
      if (has(name) && !(name === 'dimensions' && dimensions.length === 0)) {
        add([name], `no "${name}" here: ${WHY_REFUSED[layout]}`, 'remove it, or choose another layout');
      }
    }
  }
  if (has('top') && has('worst')) add(['worst'], '"top" or "worst", not both', 'remove one of them');
  if (layout === 'trend' && granularity === undefined) {
    add(['layout'], 'a "granularity" for a trend', 'add one, e.g. granularity: month');
  }
  if (layout === 'exceptions' && list === undefined && dimensions.length === 0 && granularity === undefined) {
    add(['layout'], '"dimensions", "granularity" or a "list": exceptions are rows', 'add one of them');
  }
  const seen = new Set<string>();
  groups.forEach(({ metrics }, group) => {
    metrics.forEach((id, index) => {
      if (seen.has(id)) add(['groups', group, 'metrics', index], 'each metric in one group', 'remove the second one');
      seen.add(id);
    });
  });
  return issues;
}
