import type { Period } from '../../definitions/periods/period.ts';
import type { Column, Dataset, Row, Table, Value } from '../../fetch/dataset.ts';
import type { Artifact } from '../artifact.ts';
import { buildSummary } from './summary.ts';
import { buildTemplateData, type EmailOptions, type SizeBudget } from './template-data.ts';

const BUCKET: Column = { name: 'bucket', label: 'Bucket', kind: 'time', type: 'date', unit: null };
const COUNT: Column = {
  name: 'profiles.created',
  label: 'Profiles created',
  kind: 'metric',
  type: 'integer',
  unit: 'count',
};
const RATE: Column = {
  name: 'profiles.approval_rate',
  label: 'Approval rate',
  kind: 'metric',
  type: 'ratio',
  unit: 'ratio',
};

const DAYS = ['2026-11-09', '2026-11-10', '2026-11-11', '2026-11-12', '2026-11-13', '2026-11-14', '2026-11-15'];

const figures = (count: number, rate: number | null) => ({ [COUNT.name]: count, [RATE.name]: rate });

const day = (bucket: string, index: number): Row => {
  const values: Record<string, Value> = { bucket, ...figures(120 + 7 * index, index < 5 ? 0.8 + index / 100 : null) };
  return { values, compare: { previous_period: { values: figures(118, 0.79) } }, partial: index === DAYS.length - 1 };
};

const PERIOD: Period = { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' };

const RANGES = {
  period: PERIOD,
  range: { from: '2026-11-09', to: '2026-11-15' },
  asOf: '2026-11-16T06:59:30Z',
};

const ONBOARDING: Table = {
  ...RANGES,
  id: 'onboarding',
  title: 'Onboarding',
  description: 'How many counterparties came, and how many were approved.',
  granularity: 'day',
  current: false,
  running: true,
  comparisons: [{ kind: 'previous_period', range: { from: '2026-11-02', to: '2026-11-08' } }],
  columns: [BUCKET, COUNT, RATE],
  rows: DAYS.map(day),
  totals: { values: figures(987, 0.83), compare: { previous_period: { values: figures(826, 0.79) } } },
  chart: 'line',
  filters: [{ label: 'Risk', is: ['High', 'Severe'] }],
  notes: [
    { code: 'truncated', message: { id: 'cut', of: { rows: 5000 } }, incomplete: true },
    {
      code: 'deprecated',
      message: { id: 'deprecated', of: { label: 'Rate', id: 'rate', since: '2026-01-01', successor: null } },
      incomplete: false,
    },
  ],
};

const { granularity: _granularity, chart: _chart, notes: _notes, totals: _totals, ...ONE_ROW } = ONBOARDING;
const SCORECARD: Table = {
  ...ONE_ROW,
  id: 'scorecard',
  title: 'Scorecard',
  granularity: null,
  columns: [COUNT, RATE],
  rows: [{ values: figures(987, 0.83), compare: { previous_period: { values: figures(826, 0.79) } }, partial: false }],
  notes: [],
  layout: { kind: 'scorecard', groups: [{ title: 'Quality', metrics: [RATE.name] }] },
  trend: {
    granularity: 'week',
    buckets: [
      { label: '2026-11-02', partial: false },
      { label: '2026-11-09', partial: false },
    ],
    values: { [COUNT.name]: [826, 987], [RATE.name]: [0.79, 0.83] },
  },
};

const COMMENTARY: Table = {
  ...ONE_ROW,
  id: 'commentary',
  title: 'Commentary',
  description: 'A sentence about the week.',
  granularity: null,
  comparisons: [],
  columns: [],
  rows: [],
  filters: [],
  notes: [],
  layout: { kind: 'text' },
};

const CONTACTS: Table = {
  ...ONE_ROW,
  id: 'contacts',
  title: 'Contacts',
  granularity: null,
  range: null,
  comparisons: [],
  columns: [{ name: 'name', label: 'Name', kind: 'field', type: 'string', unit: null }],
  rows: [],
  filters: [],
  notes: [],
};

const FULL: Dataset = {
  org: 'acme',
  organization: 'Acme Ltd',
  report: 'weekly',
  title: 'Weekly KPIs',
  description: 'For the board.',
  owner: 'ops@acme.example',
  period: PERIOD,
  tables: [SCORECARD, ONBOARDING, { ...ONBOARDING, id: 'again', title: 'Again' }, COMMENTARY, CONTACTS],
  calls: [],
  registryVersion: 1,
  targets: [{ metric: RATE.name, better: 'higher', target: 0.9, watch: 0.8, source: 'organization' }],
  judgements: [
    {
      section: 'onboarding',
      metric: RATE.name,
      bucket: null,
      group: null,
      figure: 0.83,
      status: 'watch',
      target: 0,
    },
  ],
  headlines: ['Approval rate: 83.0%, target 90.0%, watch (4.0 pp higher than the week before)'],
  comments: [null, 'onboarding'].map((section) => ({
    section,
    author: 'Ada Lovelace',
    at: '2026-11-16T08:00:00Z',
    blocks: [
      { kind: 'paragraph', spans: [{ text: 'More profiles, ' }, { text: 'as planned', emphasis: 'strong' }] },
      {
        kind: 'list',
        ordered: true,
        items: [[{ text: 'An item.', emphasis: 'em' }], [{ text: 'Words. '.repeat(70) }]],
      },
    ],
  })),
  approval: { by: [{ name: 'Ada Lovelace', at: '2026-11-16T09:00:00Z' }], content: '' },
  correction: {
    replaces: { run: '', at: '2026-11-16T07:00:00Z' },
    changes: Array.from({ length: 8 }, () => ({
      section: 'onboarding',
      metric: COUNT.name,
      bucket: '2026-11-09',
      group: null,
      before: 120,
      after: 121,
    })),
  },
};

const { description: _, headlines: _headlines, comments: _comments, ...UNREMARKED } = FULL;
const { approval: _approval, correction: _correction, ...UNDESCRIBED } = UNREMARKED;
const { totals: __, chart: ___, description: ____, ...BARE_TABLE } = ONBOARDING;
const BARE: Dataset = {
  ...UNDESCRIBED,
  tables: [{ ...BARE_TABLE, comparisons: [], filters: [], notes: [], rows: [] }],
};

const FILE: Artifact = {
  name: 'Weekly KPIs 2026-W46.xlsx',
  format: 'xlsx',
  mediaType: '',
  path: '',
  bytes: 41_000,
  sha256: '',
};

const OPTIONS: EmailOptions = {
  classification: 'Confidential',
  pageUrl: 'https://docket.example.com/runs/0123456789abcdef0123456789abcdef',
  run: '0123456789abcdef0123456789abcdef',
  madeAt: Date.UTC(2026, 10, 16, 7),
  attached: ['xlsx'],
  schedules: [{ cron: '0 8 * * MON', timezone: 'Europe/Zurich' }],
};

const PICTURE = {
  cid: 'onboarding.0123@docket',
  alt: 'Line chart by Day.',
  note: 'In this chart something is not drawn.',
  width: 592,
  height: 285,
};

const buildSampleData = (dataset: Dataset, artifacts: readonly Artifact[], budget: SizeBudget) => {
  const summary = buildSummary({ dataset, locale: 'en-GB' });
  return buildTemplateData(
    {
      dataset,
      artifacts,
      summary: { ...summary, moreTiles: artifacts.length === 0 ? [] : summary.tiles },
      pictures: {
        logo: artifacts.length === 0 ? undefined : PICTURE,
        charts: new Map(artifacts.map(() => ['onboarding', PICTURE])),
        smallCharts: new Map(
          artifacts.length === 0
            ? []
            : summary.sections
                .flatMap(({ table }) => (table?.rows ?? []).flatMap(({ cells }) => cells))
                .flatMap(({ chart }) => (chart === undefined ? [] : [[chart, PICTURE] as const])),
        ),
      },
      options: OPTIONS,
    },
    budget,
  );
};

/** Sample data to check templates with: one sample with all optional parts, one with none, and a truncated e-mail. */
export const sampleTemplateData = (): readonly ReturnType<typeof buildTemplateData>[] => [
  buildSampleData(FULL, [FILE, { ...FILE, name: 'Weekly KPIs.csv', format: 'csv' }], {
    rows: 10,
    rowsBelowChart: 10,
    sections: 10,
    tiles: 10,
    entries: 10,
  }),
  buildSampleData(BARE, [], { rows: 10, rowsBelowChart: 10, sections: 10, tiles: 10, entries: 10 }),
  buildSampleData(FULL, [FILE], { rows: 3, rowsBelowChart: 3, sections: 1, tiles: 10, entries: 0 }),
];
