import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SourcedTarget } from '../../../src/definitions/schema/targets.ts';
import type { Dataset, Table } from '../../../src/fetch/dataset.ts';
import type { Artifact, MailBodyName } from '../../../src/render/artifact.ts';
import { renderEmail } from '../../../src/render/email/render-email.ts';
import { buildSummary } from '../../../src/render/email/summary.ts';
import type { EmailOptions } from '../../../src/render/email/template-data.ts';
import { judgeDataset } from '../../../src/render/figures/judge.ts';
import {
  countColumn,
  dataset,
  groupColumn,
  MADE_AT,
  onboarding,
  previous,
  ratioColumn,
  row,
  table,
  WEEK_BEFORE,
} from '../../support/dataset.ts';
import { comment } from '../../support/reviewed-dataset.ts';

const [COUNT, RATE] = [countColumn.name, ratioColumn.name];
const TARGETS: SourcedTarget[] = [
  { source: 'organization', metric: RATE, better: 'higher', target: '90%', watch: '85%' },
];
const PERSON = 'Ada Lovelace';
const SCORECARD: Table = table({
  id: 'scorecard',
  title: 'Scorecard',
  columns: [countColumn, ratioColumn],
  comparisons: [WEEK_BEFORE],
  rows: [row({ [COUNT]: 110, [RATE]: 0.83 }, { compare: previous({ [COUNT]: 100, [RATE]: 0.86 }) })],
  layout: { kind: 'scorecard', groups: [{ title: 'Quality', metrics: [RATE] }] },
  trend: {
    granularity: 'week',
    buckets: [
      { label: '2026-11-02', partial: false },
      { label: '2026-11-09', partial: false },
    ],
    values: { [COUNT]: [100, 110], [RATE]: [0.86, 0.83] },
  },
});
const PERSONS: Table = table({
  id: 'persons',
  title: 'Persons',
  columns: [{ name: 'name', label: 'Name', kind: 'field', type: 'string', unit: null }],
  rows: [row({ name: PERSON })],
  filters: [{ label: 'Name', search: PERSON }],
  range: null,
});
const FILE: Artifact = { name: 'KPIs.xlsx', format: 'xlsx', mediaType: '', path: '/', bytes: 4321, sha256: '' };
const PAGE = 'https://docket.acme.example/runs/0123456789abcdef0123456789abcdef';
const LOGO = join(import.meta.dirname, '../../../jobs/demo/logo.png');

const judged = (tables: readonly Table[], more: Partial<Dataset> = {}): Dataset =>
  judgeDataset(dataset(tables, more), TARGETS, { sections: tables.map(({ id }) => ({ id })) });
const mail = (data: Dataset, change: Partial<EmailOptions> = {}) =>
  renderEmail(data, [FILE], {
    run: '0123456789abcdef0123456789abcdef',
    madeAt: MADE_AT,
    attached: ['xlsx'],
    pageUrl: PAGE,
    logo: LOGO,
    classification: 'Confidential',
    ...change,
  });
const ALL = judged([SCORECARD, onboarding, PERSONS], { headlines: ['Approval rate: 83.0%, target 90.0%, breached'] });

describe('the body of a report’s e-mail', () => {
  it.each<[MailBodyName, boolean, boolean, boolean]>([
    ['full', true, true, false],
    ['full-lists', true, true, true],
    ['summary', true, false, false],
    ['notice', false, false, false],
  ])('named %s shows figures: %s, sections: %s, rows of lists: %s', async (body, figures, sections, lists) => {
    const { html, text } = await mail(ALL, { body });
    for (const part of [html, text]) {
      expect(part.includes('83.0%')).toBe(figures);
      expect(part.includes('2026-W46') || part.includes('November 2026')).toBe(true);
      expect(part).toContain(PAGE);
      expect(part).toContain('Confidential');
      expect(part).toContain('KPIs.xlsx');
      expect(part.includes(PERSON)).toBe(lists);
    }
    expect(text.includes('ONBOARDING')).toBe(sections);
  });

  it('contains no figure of the dataset when it is a notice', async () => {
    const { html, text, pictures } = await mail(ALL, { body: 'notice' });
    const visible = html.replace(/<style[\s\S]*?<\/style>/g, '').replace(/<[^>]*>/g, ' ');
    for (const part of [visible, text])
      for (const figure of ['110', '83.0', '6,390']) expect(part).not.toContain(figure);
    expect(text).toContain('The report for 2026-W46 is ready.');
    expect(pictures.map(({ name }) => name)).toEqual([expect.stringMatching(/^mail-logo-[0-9a-f]{24}\.png$/)]);
  });

  it('names sections that only the files show, with their number of rows', async () => {
    const { html, text } = await mail(ALL);
    for (const part of [html, text]) expect(part).toContain('Persons (1 row)');
    expect(text).toContain('1 more section is in the attached workbook.');
  });

  it('repeats no note about the weeks that are cut off', async () => {
    const notComparable = { reason: 'weekdays', kinds: [], first: false, last: false, others: true } as const;
    const cut = table({
      ...onboarding,
      granularity: 'week',
      range: { from: '2026-11-10', to: '2026-11-14' },
      notes: [
        {
          code: 'unlike',
          message: { id: 'unlike_rows', of: { granularity: 'week', reasons: [notComparable] } },
          incomplete: false,
        },
      ],
    });
    const { html, text } = await mail(dataset([cut]));
    for (const part of [html, text]) {
      const lines = part.split(/\n|<p/).map((line) => line.replace(/<[^>]*>/g, '').trim());
      const notes = lines.filter((line) => /other weekdays|first and the last|count only/i.test(line));
      expect(notes).toHaveLength(new Set(notes).size);
      expect(notes.length).toBeGreaterThanOrEqual(2);
    }
  });

  it('is identical when it is rendered again', async () => {
    for (const body of ['full', 'summary', 'notice'] as const)
      expect(await mail(ALL, { body })).toEqual(await mail(ALL, { body }));
  });
});

describe('the top of an e-mail', () => {
  it('says how many figures are breached before it shows the first tile', async () => {
    const { html, text } = await mail(ALL);
    const shown = html.slice(html.indexOf('<body'));
    const visible = shown.slice(shown.indexOf('class="org"'));
    expect(visible.indexOf('2 breached')).toBeGreaterThan(0);
    expect(visible.indexOf('2 breached')).toBeLessThan(visible.indexOf('class="value"'));
    expect(text).toContain('! Approval rate: 83.0%, target 90.0%, breached');
  });

  it('says “Nothing is breached” only when figures have targets', async () => {
    const good = { ...SCORECARD, rows: [row({ [COUNT]: 110, [RATE]: 0.95 })] };
    expect((await mail(judged([good]))).text).toContain('Nothing is breached or on watch.');
    expect((await mail(dataset([good]))).text).not.toContain('breached');
  });

  it('shows the logo, and omits logo and link when they are missing', async () => {
    const { html, pictures } = await mail(ALL);
    const [, cid] = /<img class="logo" src="cid:([^"]+)" alt="Acme Compliance AG"/.exec(html) ?? [];
    expect(pictures.map((picture) => picture.cid)).toContain(cid);
    const bare = await mail(ALL, { logo: undefined, classification: undefined, pageUrl: undefined });
    expect(bare.html).not.toContain('class="logo"');
    expect(bare.html).not.toContain('href="http');
    // A logo that was deleted after the check does not stop the report.
    expect((await mail(ALL, { logo: '/nowhere/logo.png' })).html).not.toContain('class="logo"');
  });

  it('has at most five tiles', async () => {
    const columns = Array.from({ length: 9 }, (_, n) => ({ ...countColumn, name: `m${n}`, label: `Metric ${n}` }));
    const many = table({ id: 'many', columns, rows: [row(Object.fromEntries(columns.map(({ name }) => [name, 1])))] });
    const { html } = await mail(dataset([many]));
    expect(html.match(/class="value"/g)).toHaveLength(5);
  });

  it('orders tiles as the definition orders its headlines', async () => {
    const { text } = await mail(judged([SCORECARD], { headlineMetrics: [COUNT, RATE] }));
    expect(text.indexOf('Profiles created: 110')).toBeLessThan(text.indexOf('Approval rate: 83.0%, target 90.0%: ■'));
  });
});

describe('tables of an e-mail', () => {
  it('keep all rows of a scorecard and drop tiles when both do not fit', async () => {
    const columns = Array.from({ length: 12 }, (_, n) => ({
      ...countColumn,
      name: `m${n}`,
      label: `Metric ${n} of ${'profiles that were created in regions and channels '.repeat(2)}`.trim(),
    }));
    const valuesOf = (value: number) => Object.fromEntries(columns.map(({ name }) => [name, value]));
    const scorecard = table({
      id: 'scorecard',
      title: 'Scorecard',
      columns,
      comparisons: [WEEK_BEFORE],
      rows: [row(valuesOf(110), { compare: previous(valuesOf(100)) })],
      layout: { kind: 'scorecard', groups: [] },
    });
    const targets = columns.map(
      ({ name: metric }): SourcedTarget => ({ source: 'organization', metric, better: 'lower', target: 50, watch: 80 }),
    );
    const data = judgeDataset(dataset([scorecard], { comments: [comment(null, 'Yes.\n\n'.repeat(40))] }), targets, {
      sections: [{ id: 'scorecard' }],
    });
    const { html } = await mail(data);
    expect(html.match(/<tr class="[^"]*"><td[^>]*>Metric|<tr><td[^>]*>Metric/g)).toHaveLength(12);
    expect(html.match(/class="value"/g)?.length ?? 0).toBeLessThan(5);
  });

  it('show a scorecard with subheadings, changes and a described trend picture for each metric', async () => {
    const { html, text, pictures } = await mail(judged([SCORECARD]));
    expect(html).toContain('<tr class="sub"><td colspan="4">Quality</td></tr>');
    expect(html).toContain('▲ 10%');
    expect(text).toContain('▲ 10% from 100');
    const trends = [...html.matchAll(/<img src="cid:(trend[^"]+)" alt="([^"]+)" width="80" height="22"/g)];
    expect(trends.map(([, cid]) => cid)).toEqual(
      pictures.filter(({ name }) => name.startsWith('mail-trend-')).map(({ cid }) => cid),
    );
    expect(trends.map(([, , alt]) => alt)).toEqual([
      expect.stringContaining('Profiles created: from 100'),
      expect.stringContaining('Approval rate: from 86.0%'),
    ]);
  });

  it('show the change beside each figure of a group', async () => {
    const groups = table({
      id: 'groups',
      title: 'Groups',
      columns: [groupColumn, countColumn, ratioColumn],
      comparisons: [WEEK_BEFORE],
      rows: [
        row(
          { 'profile.group': 'North', [COUNT]: 110, [RATE]: 0.83 },
          { compare: previous({ [COUNT]: 100, [RATE]: 0.86 }) },
        ),
      ],
    });
    const { text } = await mail(dataset([groups]));
    expect(text).toContain('Group | Profiles created | Change | Approval rate | Change');
    expect(text).toMatch(/North\S* \| 110 \| \+10% \| 83\.0% \| -3\.0 pp/);
  });

  it('escape markup, isolate right-to-left names and keep long labels in full', async () => {
    const name = 'شركة أكمي للمدفوعات';
    const long = 'A very long label of a metric that goes on and on '.repeat(4).trim();
    const hostile = table({
      id: 'hostile',
      title: `${name} <b>`,
      columns: [
        { ...groupColumn, label: '<i>Group</i>' },
        { ...countColumn, label: long },
      ],
      rows: [row({ 'profile.group': name, [COUNT]: 1 }), row({ 'profile.group': '<img src=x>', [COUNT]: 2 })],
      totals: { values: { [COUNT]: 3 } },
    });
    const { html, text } = await mail(
      dataset([hostile], { organization: `${name} & Co`, title: '{{ run }} <script>' }),
    );
    expect(html).not.toMatch(/<script>|<img src=x|<i>Group/);
    expect(html).toContain('&lt;img src=x&gt;');
    expect(html).toContain('{{ run }} &lt;script&gt;');
    expect(html).toContain(long);
    expect(text).toContain(`\u2068${name}\u2069 | 1`);
  });

  it('are in German when the locale is German', async () => {
    const { text } = await mail(ALL, { locale: 'de-CH' });
    expect(text).toContain('2 verfehlt');
    expect((await mail(ALL, { locale: 'de-CH', body: 'notice' })).text).toContain('2026-W46 ist fertig.');
  });
});

describe('the scorecard of an e-mail', () => {
  const columns = Array.from({ length: 14 }, (_, index) => ({
    ...countColumn,
    name: `m${index}`,
    label: `Metric ${index}`,
  }));
  const long = {
    ...SCORECARD,
    columns,
    comparisons: [],
    rows: [row(Object.fromEntries(columns.map(({ name }, index) => [name, index])))],
  };
  const { trend: _, ...plain } = long;
  const summary = buildSummary({ dataset: dataset([onboarding, plain]), locale: 'en-GB' });

  it('comes before the charts, shows its first twelve metrics and says how many it has', async () => {
    expect(summary.sections.map(({ id }) => id)).toEqual(['scorecard', 'onboarding']);
    const { text } = await mail(dataset([onboarding, { ...plain, layout: { kind: 'scorecard', groups: [] } }]));
    expect(text).toMatch(/Metric 11 \|/);
    expect(text).not.toMatch(/Metric 12 \|/);
    expect(text).toMatch(/first 12 of 14 rows/);
  });
});
