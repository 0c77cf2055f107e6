import { type Catalog, isCurrentCount, isProvisional, type Metric } from '../../contract/catalog.ts';
import { metricPath } from '../../definitions/schema/layout.ts';
import type { MetricsSection } from '../../definitions/schema/report-definition.ts';
import type { ValuePath } from '../../definitions/yaml/source-file.ts';
import { buildBuckets, lastDayOfBucket } from '../buckets.ts';
import { readingAdvice, readingGap } from '../reading.ts';
import type { SectionRequest, SectionRequestsInput } from '../requests/section-requests.ts';
import { hasTrend, type TrendSpan, trendSpan } from '../trend.ts';
import { type PlanDiagnostic, quoted } from './catalog-check.ts';

type TrendCheckInput = Pick<SectionRequestsInput, 'catalog' | 'settings'>;

/** Warns about trends that can never have figures. They do not stop a run, which shows them as undefined. */
export const trendDiagnostics = (requests: readonly SectionRequest[], input: TrendCheckInput): PlanDiagnostic[] =>
  requests.flatMap(({ section, period }, index): PlanDiagnostic[] => {
    const { metrics, trend } = section;
    if (metrics === undefined || trend === undefined) return [];
    const at: ValuePath = ['sections', index];
    const known = metrics.flatMap((id) => input.catalog.metrics.find((metric) => metric.id === id) ?? []);
    // Unknown metrics, and current counts beside metrics of a period, have diagnostics of their own.
    if (known.length > 0 && known.every(isCurrentCount)) return unreadCounts({ ...section, metrics }, at, input);
    const span = trendSpan(period, trend);
    const without = withoutTrend({ ...section, metrics }, at, span, input.catalog);
    return without.length > 0 ? without : beforeData(known, at, span);
  });

/** How many points of a trend a usual range needs: twelve earlier ones, and the figure's own. */
const RANGE_POINTS = 13;

/** Warns about `send_if: unusual` if no figure can have a usual range. */
export function unusualConditions(
  requests: readonly SectionRequest[],
  { definition, catalog }: Pick<SectionRequestsInput, 'definition' | 'catalog'>,
): PlanDiagnostic[] {
  const canHaveRange = ({ section, period }: SectionRequest): boolean => {
    const { metrics = [], trend = 0, layout, granularity: by } = section;
    if (!metrics.some((id) => catalog.metrics.some((each) => each.id === id && !isProvisional(each)))) return false;
    if (layout !== 'trend') {
      const { granularity, range } = trendSpan(period, 1);
      return trend >= RANGE_POINTS && granularity !== 'day' && range.from === period.from;
    }
    if (by === undefined || by === 'day') return false;
    const whole = buildBuckets(period, by).filter(
      ({ label, from, to }) => from === label && to === lastDayOfBucket(label, by),
    );
    return whole.length >= RANGE_POINTS && whole.at(-1)?.to === period.to;
  };
  if (requests.some(canHaveRange)) return [];
  return definition.deliveries.flatMap(({ send_if }, index): PlanDiagnostic[] =>
    send_if?.trim() === 'unusual'
      ? [
          {
            path: ['deliveries', index, 'send_if'],
            expected: `a scorecard with "trend: ${RANGE_POINTS}" or more over one week or month, or a trend of ${RANGE_POINTS} weeks or months`,
            got: '"unusual"',
            next: `Add trend: ${RANGE_POINTS} to a scorecard, or "layout: trend" with period: last_${RANGE_POINTS}_months, or use another condition.`,
          },
        ]
      : [],
  );
}

/** Warns about current counts without stored readings. */
function unreadCounts(section: MetricsSection, at: ValuePath, { settings }: TrendCheckInput): PlanDiagnostic[] {
  const gap = readingGap(section, settings?.readings);
  if (gap === undefined) return [];
  return [
    {
      path: [...at, 'trend'],
      expected: 'no "trend" with current counts, which have no history, unless they are read every day',
      got: `"trend" with ${quoted(section.metrics)}`,
      next: `${readingAdvice(gap)} Or remove it.`,
    },
  ];
}

/** Warns about metrics that the service does not provide by the trend's buckets. */
const withoutTrend = (
  section: MetricsSection,
  at: ValuePath,
  { granularity }: TrendSpan,
  { metrics }: Catalog,
): PlanDiagnostic[] =>
  section.metrics.flatMap((id, index): PlanDiagnostic[] => {
    const metric = metrics.find((candidate) => candidate.id === id);
    if (metric === undefined || isCurrentCount(metric) || hasTrend(metric, granularity)) return [];
    return [
      {
        path: [...at, ...metricPath(section, index)],
        expected: `a metric that can be read by ${granularity}, as the trend is`,
        got: `"${id}", which takes ${metric.granularities.length === 0 ? 'no granularity' : quoted(metric.granularities)}`,
        next: 'Move the metric into a section without "trend", or remove "trend".',
      },
    ];
  });

/** A trend needs two points: the period, and one before it. */
function beforeData(metrics: readonly Metric[], at: ValuePath, { granularity, range }: TrendSpan): PlanDiagnostic[] {
  const [from] = metrics.map(({ data_available: data }) => data?.from ?? '').sort();
  const before = buildBuckets(range, granularity).at(-2);
  if (from === undefined || before === undefined || from <= before.to) return [];
  return [
    {
      path: [...at, 'trend'],
      expected: `a ${granularity} before the period in which one of the metrics has data`,
      got: `a trend from ${range.from} on, of metrics whose data begins on ${from}`,
      next: 'Leave "trend" out until then.',
    },
  ];
}
