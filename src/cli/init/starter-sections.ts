import { type Catalog, isCurrentCount, type Metric } from '../../contract/catalog.ts';

/** A section of a first report, before it is limited to the catalog. */
interface SectionTemplate {
  readonly id: string;
  readonly title: string;
  /** A comment in the file. */
  readonly why: string;
  readonly metrics: readonly string[];
  readonly dimensions?: readonly string[];
  readonly granularity?: 'day' | 'week' | 'month';
  /** Only if the catalog has the whole section. */
  readonly chart?: string;
  readonly order?: { readonly by: string; readonly dir: 'desc' };
  readonly toDate?: 'year';
  readonly layout?: 'scorecard';
  /** Further fields, as a comment: not every organization has the figures. */
  readonly suggestion?: string;
  /** Every organization has its metrics (specification §2.6): used without a catalog. */
  readonly safe?: true;
}

/** A section as it is written into the file. */
export type StarterSection = Omit<SectionTemplate, 'safe'> & { readonly totals: boolean };

const CURRENT_QUEUE_SECTION: SectionTemplate = {
  id: 'queue',
  title: 'Queue now',
  why: 'Current counts at the time of the report. They have no granularity, and do not depend on the period.',
  metrics: [
    'profiles.pending_review',
    'reviews.overdue',
    'alerts.open',
    'alerts.unassigned',
    'rfis.open',
    'rfis.overdue',
  ],
  safe: true,
};

const WEEKLY_SECTIONS: readonly SectionTemplate[] = [
  {
    id: 'scorecard',
    title: 'Scorecard',
    why: 'The most important figures, on the first page. Those with a target in targets.yaml get a status.',
    layout: 'scorecard',
    metrics: [
      'profiles.created',
      'profiles.approval_rate',
      'profiles.time_to_decision_p50',
      'profiles.time_to_decision_p90',
    ],
    safe: true,
  },
  {
    id: 'onboarding',
    title: 'Onboarding by day',
    why: 'One row per day, with a line chart in the workbook and in the e-mail.',
    metrics: ['profiles.created', 'profiles.decided'],
    granularity: 'day',
    chart: 'line',
    safe: true,
  },
  {
    id: 'turnaround',
    title: 'Turnaround and approval',
    why: 'One row for individuals, one for entities. Medians and rates cannot be added up: the totals are the service’s own.',
    metrics: ['profiles.time_to_decision_p50', 'profiles.time_to_decision_p90', 'profiles.approval_rate'],
    dimensions: ['profile.type'],
    safe: true,
  },
  {
    id: 'screening',
    title: 'Screening hits by kind',
    why: 'The largest first.',
    metrics: ['screening.hits', 'screening.profiles_hit', 'screening.hits_resolved'],
    dimensions: ['hit.kind'],
    order: { by: 'screening.hits', dir: 'desc' },
    chart: 'column',
  },
  {
    id: 'alerts',
    title: 'Alerts',
    why: 'One row for the whole week.',
    metrics: ['alerts.created', 'alerts.closed', 'alerts.time_to_close_p50'],
    safe: true,
  },
  {
    id: 'rfis',
    title: 'Requests for information',
    why: 'One row for the whole week.',
    metrics: ['rfis.sent', 'rfis.answered', 'rfis.response_rate', 'rfis.response_time_p50'],
    safe: true,
  },
  CURRENT_QUEUE_SECTION,
];

const MONTHLY_SECTIONS: readonly SectionTemplate[] = [
  {
    id: 'scorecard',
    title: 'Scorecard',
    why: 'The most important figures, on the first page. Those with a target in targets.yaml get a status.',
    layout: 'scorecard',
    metrics: [
      'profiles.created',
      'profiles.decided',
      'profiles.approval_rate',
      'profiles.time_to_decision_p50',
      'profiles.time_to_decision_p90',
    ],
    toDate: 'year',
    suggestion: 'compare: [previous_period, previous_year]   # once there is a year before',
    safe: true,
  },
  {
    id: 'onboarding',
    title: 'Onboarding by day',
    why: 'One row a day.',
    metrics: ['profiles.created', 'profiles.decided'],
    granularity: 'day',
    chart: 'line',
    safe: true,
  },
  {
    id: 'groups',
    title: 'Onboarding by group',
    why: 'The groups of your organization, the largest first.',
    metrics: ['profiles.created', 'profiles.decided', 'profiles.approval_rate'],
    dimensions: ['profile.group'],
    order: { by: 'profiles.created', dir: 'desc' },
    chart: 'bar',
    safe: true,
  },
  {
    id: 'risk',
    title: 'Decisions by risk and type',
    why: 'Two dimensions, which is the most: one row for each pair.',
    metrics: ['profiles.decided', 'profiles.approval_rate', 'profiles.time_to_decision_p50'],
    dimensions: ['profile.risk', 'profile.type'],
    safe: true,
  },
  {
    id: 'screening',
    title: 'Screening hits by kind and resolution',
    why: 'Sanctions, PEP and adverse media, and what became of them.',
    metrics: ['screening.hits', 'screening.profiles_hit'],
    dimensions: ['hit.kind', 'hit.resolution'],
  },
  {
    id: 'transactions',
    title: 'Transaction alerts by week',
    why: 'Weeks begin on Monday; the first and the last count only their days of this month.',
    metrics: ['transaction_alerts.received', 'transaction_alerts.closed', 'transaction_alerts.time_to_decide_p50'],
    granularity: 'week',
  },
  {
    id: 'rfis',
    title: 'Requests for information by group',
    why: 'How many were sent, and how fast they were answered.',
    metrics: ['rfis.sent', 'rfis.answered', 'rfis.response_rate', 'rfis.response_time_p50'],
    dimensions: ['profile.group'],
  },
  CURRENT_QUEUE_SECTION,
];

export const SECTION_TEMPLATES = { weekly: WEEKLY_SECTIONS, monthly: MONTHLY_SECTIONS } as const;

/**
 * The sections that this catalog can answer, each with the metrics, the dimensions and the granularity that it allows.
 * Without a catalog: those that every organization has. Never empty: a catalog with none of our metrics gives one
 * section with its own first ones; one without any metric is as none. Pure.
 */
export function starterSections(
  kind: keyof typeof SECTION_TEMPLATES,
  catalog: Catalog | undefined,
): readonly StarterSection[] {
  const wishes = SECTION_TEMPLATES[kind];
  const safe = wishes.filter((wish) => wish.safe).map(fromTemplate);
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

const fromTemplate = ({ safe: _, ...wish }: SectionTemplate): StarterSection => ({
  ...wish,
  totals: wish.id !== CURRENT_QUEUE_SECTION.id && wish.layout === undefined,
});

function fitToCatalog(
  wish: SectionTemplate,
  known: ReadonlyMap<string, Metric>,
  catalog: Catalog,
): StarterSection | undefined {
  const current = wish.id === CURRENT_QUEUE_SECTION.id;
  const metrics = wish.metrics
    .flatMap((id) => known.get(id) ?? [])
    .filter((metric) => metric.deprecated_at == null && isCurrentCount(metric) === current);
  const [first] = metrics;
  if (first === undefined) return undefined;
  const listed = new Set(catalog.dimensions.map(({ id }) => id));
  const dimensions = (wish.dimensions ?? [])
    .filter((id) => listed.has(id) && metrics.every((metric) => metric.dimensions.includes(id)))
    .slice(0, catalog.limits.max_dimensions);
  const { granularity } = wish;
  const bucketed = granularity !== undefined && metrics.every((metric) => metric.granularities.includes(granularity));
  const { dimensions: _dimensions, granularity: _granularity, chart, order, safe: _safe, ...rest } = wish;
  // A chart is of what was wished: fewer axes may leave nothing to draw.
  const whole = bucketed === (granularity !== undefined) && dimensions.length === (wish.dimensions?.length ?? 0);
  return {
    ...rest,
    metrics: metrics.map(({ id }) => id),
    ...(dimensions.length > 0 ? { dimensions } : {}),
    ...(bucketed ? { granularity } : {}),
    ...(order !== undefined && metrics.some(({ id }) => id === order.by) ? { order } : {}),
    ...(chart !== undefined && whole ? { chart } : {}),
    totals: !current && wish.layout === undefined,
  };
}
