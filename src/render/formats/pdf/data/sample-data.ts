import { parseComment } from '../../../../definitions/commentary/comment-text.ts';
import { DEFAULT_LOCALE, messagesFor } from '../../../../i18n/messages.ts';
import type { ChartData, SeriesData } from './chart-data.ts';
import type { PackData } from './pack-data.ts';
import type { PanelData, ScorecardData } from './scorecard-data.ts';
import { commentData, type SectionData } from './section-data.ts';
import type { CellData, TableData } from './table-data.ts';

const cell = (text: string, more: Partial<CellData> = {}): CellData => ({
  text,
  number: false,
  tone: '',
  few: false,
  status: null,
  ...more,
});

const scorecard: ScorecardData = {
  scope: 'Only where Risk is High.',
  headers: {
    metric: 'Metric',
    value: 'Oct 2026',
    compared: [{ value: 'Sep 2026', change: 'Change' }],
    toDate: 'Year to date',
    target: 'Target',
    status: 'Status',
    trend: 'Last 3 months',
  },
  groups: [
    {
      title: 'Onboarding',
      rows: (['on_target', 'watch', 'breached', 'undefined'] as const).map((state, index) => ({
        label: `Metric ${state}`,
        value: '1,234',
        few: index === 3,
        running: index === 0,
        compared: [index === 3 ? null : { value: '1,100', change: '▲ +12.2%', tone: 'better', toneWord: 'better' }],
        toDate: '12,340',
        target: '1,200',
        watch: 'watch 1,100',
        status: { state, word: state },
        usual: index === 0 ? 'usual 1,100–1,300' : '',
        trend: index === 3 ? null : { alt: 'From 1 to 3.', values: [0, null, 1], partial: [false, false, true] },
      })),
    },
  ],
};

const table: TableData = {
  widths: [120, 70, 70],
  groups: [
    { text: '', span: 1 },
    { text: 'Profiles created', span: 2 },
  ],
  headers: [
    { text: 'Risk', number: false },
    { text: 'Oct', number: true },
    { text: 'Change', number: true },
  ],
  rows: [
    {
      cells: [
        cell('High'),
        cell('12', { number: true, status: { state: 'watch', word: 'watch' } }),
        cell('▲ +3.1%', { number: true, tone: 'worse' }),
      ],
      partial: true,
      total: false,
    },
    { cells: [cell('Total'), cell('12', { number: true }), cell('')], partial: false, total: true },
  ],
};

const series: SeriesData = {
  name: 'Profiles created',
  colour: '#0B6E69',
  mark: 'column',
  dashed: false,
  axis: 0,
  values: [0.25, null, 1],
  bases: [0, 0, 0],
};

const chart = (kind: ChartData['kind'], overTime: boolean): ChartData => ({
  kind,
  alt: 'A chart.',
  note: 'In this chart only two groups are drawn.',
  overTime,
  categories: ['A', 'B', 'C'],
  partial: overTime ? [false, false, true] : [],
  categoryTitle: 'Week',
  axes: [
    {
      title: 'Profiles',
      zero: 0,
      ticks: [
        { at: 0, text: '0' },
        { at: 1, text: '100' },
      ],
    },
  ],
  series: kind === 'sparkline' ? [] : [series, { ...series, mark: kind === 'line' ? 'line' : 'column', dashed: true }],
  lines: kind === 'sparkline' ? [{ name: 'Profiles created', value: '12', values: [0, 0.5, 1], partial: [] }] : [],
});

const panel: PanelData = {
  label: 'Time to decision',
  unit: 'hours',
  latest: '12 (Oct 2026)',
  alt: 'From 1 to 3.',
  ticks: [
    { at: 0, text: '0' },
    { at: 1, text: '20' },
  ],
  zero: 0,
  points: [
    { label: 'Aug 2026', at: 0.5, target: 0.8, partial: false },
    { label: 'Sep 2026', at: null, target: 0.8, partial: false },
    { label: 'Oct 2026', at: 1, target: 0.8, partial: true },
  ],
  target: 'target 16',
  band: { low: 0.4, high: 0.7, from: 0, text: 'usual 8–14' },
  line: {
    ticks: [
      { at: 0, text: '80' },
      { at: 1, text: '95' },
    ],
    points: [
      { at: 0.5, target: 0.8 },
      { at: null, target: 0.8 },
      { at: 1, target: 0.8 },
    ],
    band: { low: 0.4, high: 0.7, from: 1, text: 'usual 80.0–90.0%' },
  },
};

const comment = commentData(
  {
    section: null,
    heading: 'Comment by Ada Lovelace, 3 November 2026',
    author: 'Ada Lovelace',
    at: '2026-11-03T08:00:00Z',
    blocks: parseComment(
      'More profiles, **as planned**\n\n1. *An item.*\n\nDecision: a second reviewer.\nAction (MLRO, 30 November): hire.\nAction: tell.',
    ),
  },
  messagesFor(DEFAULT_LOCALE),
);

const section = (id: string, change: Partial<SectionData>): SectionData => ({
  id,
  kind: 'table',
  title: `Section ${id}`,
  description: 'What it shows.',
  takeaway: 'Profiles created: 12.',
  comments: [comment],
  facts: ['1–31 October 2026.'],
  warnings: ['Incomplete: rows are missing.'],
  notes: ['A note.'],
  chart: null,
  scorecard: null,
  panels: [],
  tables: [],
  paragraphs: [],
  more: 'The first 2 of 9 rows.',
  ...change,
});

/** Sample data with every part that a pack can have, for checking templates. */
export function samplePackData(): PackData {
  const { pack, mail, status, workbook, review } = messagesFor(DEFAULT_LOCALE);
  return {
    locale: DEFAULT_LOCALE,
    language: 'en',
    region: 'GB',
    paper: 'a4',
    organization: 'Acme Compliance AG',
    title: 'Sample pack',
    description: 'The month against its targets.',
    period: 'October 2026 (Europe/Zurich)',
    classification: 'Confidential',
    approval: 'Approved by Ada Lovelace on 3 November 2026',
    correction: {
      text: 'Corrected, replaces the edition of 3 November 2026',
      heading: '2 figures changed',
      changes: ['Onboarding: Profiles created: 12, was 11'],
      more: '1 more figure changed.',
    },
    owner: 'owner@acme.example',
    logo: null,
    completeness: {
      complete: false,
      text: 'Incomplete: 1 thing to know',
      notes: [{ section: 'Risk', text: 'Truncated.' }],
    },
    headlines: ['Profiles created: 12, target 16, breached.'],
    summary: scorecard,
    summaryNotes: ['October 2026, computed on 1 November.'],
    summaryComments: [comment],
    comments: [comment],
    remarks: [{ title: 'Remarks', paragraphs: ['A paragraph.', 'Another one.'], comments: [comment] }],
    contents: true,
    sections: [
      section('scorecard', { kind: 'scorecard', scorecard }),
      section('trend', { kind: 'trend', panels: [panel, panel, panel] }),
      section('line', { chart: { ...chart('line', true), place: 'above' }, tables: [table, table] }),
      section('column', { chart: { ...chart('column', false), place: 'beside' }, tables: [table] }),
      section('bar', { chart: { ...chart('bar', false), place: 'above' }, tables: [table] }),
      section('small', { chart: { ...chart('sparkline', true), place: 'above' }, tables: [table] }),
      section('exceptions', { kind: 'exceptions', tables: [table] }),
      section('text', { kind: 'text', paragraphs: ['A paragraph.', 'Another one.'] }),
    ],
    definitions: [{ name: 'Profiles created', id: 'profiles.created', unit: 'count', text: 'By their creation.' }],
    legend: ['“–” means undefined.'],
    made: [{ label: 'Made', text: '1 November 2026' }],
    words: {
      headlines: status.headlines,
      contents: workbook.sheets.contents,
      definitions: pack.definitions,
      made: pack.howMade,
      page: workbook.page('{page}', '{pages}'),
      running: mail.soFar,
      reading: mail.template.how_to_read,
      logo: workbook.summary.logoOf('Acme'),
      comments: review.csv.title,
      continued: '{title} (continued)',
    },
  };
}
