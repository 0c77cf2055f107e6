import { describe, expect, it } from 'vitest';
import type { SourcedTarget } from '../../../src/definitions/schema/targets.ts';
import type { Dataset, Table } from '../../../src/fetch/dataset.ts';
import { renderEmail } from '../../../src/render/email/render-email.ts';
import { judgeDataset } from '../../../src/render/figures/judge.ts';
import {
  bucketColumn,
  countColumn,
  dataset,
  durationColumn as durations,
  MADE_AT,
  previous,
  ratioColumn,
  row,
  table,
  typeColumn,
  WEEK_BEFORE,
} from '../../support/dataset.ts';

// A report shows a duration in one unit in all of its tables.
const durationColumn = { ...durations, shownIn: 'hours' } as const;
const [COUNT, RATE, TIME] = [countColumn.name, ratioColumn.name, durationColumn.name];
const target = (entry: Partial<SourcedTarget> & Pick<SourcedTarget, 'metric' | 'better'>): SourcedTarget => ({
  source: 'organization',
  ...entry,
});
const TARGETS = [
  target({ metric: RATE, better: 'higher', target: '90%', watch: '85%' }),
  target({ metric: TIME, better: 'lower', target: '24h', watch: '36h' }),
  target({ metric: RATE, where: { 'profile.type': 'entity' }, better: 'higher', target: '70%' }),
];

const SCORECARD = table({
  id: 'scorecard',
  title: 'Scorecard',
  columns: [countColumn, ratioColumn, durationColumn],
  comparisons: [WEEK_BEFORE],
  rows: [
    row(
      { [COUNT]: 110, [RATE]: 0.83, [TIME]: 86_400 },
      { compare: previous({ [COUNT]: 100, [RATE]: 0.86, [TIME]: 172_800 }) },
    ),
  ],
});
const BY_TYPE = table({
  id: 'types',
  title: 'By type',
  columns: [typeColumn, ratioColumn],
  rows: [row({ 'profile.type': 'individual', [RATE]: 0.91 }), row({ 'profile.type': 'entity', [RATE]: 0.71 })],
  totals: { values: { [RATE]: 0.86 } },
});

const mail = (tables: readonly Table[], targets: readonly SourcedTarget[], locale = 'en-GB') => {
  const judged: Dataset = judgeDataset(dataset(tables), targets, { sections: tables.map(({ id }) => ({ id })) });
  return renderEmail(judged, [], { run: '0123456789abcdef0123456789abcdef', madeAt: MADE_AT, locale });
};
/** Text and class of each table cell. */
const cellsIn = (html: string): { readonly className: string; readonly text: string }[] =>
  [...html.matchAll(/<td[^>]*class="([^"]*)"[^>]*>([\s\S]*?)<\/td>/g)].map(([, className = '', text = '']) => ({
    className: className.trim(),
    text,
  }));

describe('an e-mail with judged figures', () => {
  it('shows the status as a shape and a word beside each judged figure, in HTML and text', async () => {
    const { html, text } = await mail([SCORECARD, BY_TYPE], TARGETS);
    expect(text).toContain('83.0% (■ breached, target 90.0%, watch 85.0%)');
    expect(text).toContain('24.0 hours (● on target, target 24.0 hours, watch 36.0 hours)');
    expect(text).toMatch(/Entity \(KYB\)\S* \| \S*71\.0%\S* \(● on target\)/);
    expect(text).toMatch(/Total\S* \| \S*86\.0%\S* \(◆ watch\)/);
    const [rate] = cellsIn(html).filter((cell) => cell.text.startsWith('83.0%'));
    expect(rate?.text).toBe(
      '83.0%<br /><b class="s breached">■ breached</b><br /><span class="s u">target 90.0%, watch 85.0%</span>',
    );
    // Figures without a target have no status.
    const [individual] = cellsIn(html).filter((cell) => cell.text.startsWith('91.0%'));
    expect(individual?.text).toBe('91.0%');
  });

  it('shows a target unrounded in tiles and tables when a rounded one would contradict the status', async () => {
    const { text } = await mail([SCORECARD], [target({ metric: TIME, better: 'lower', target: '1437m' })]);
    expect(text.match(/^ {2}.*24\.0 hours[^\n]*target 23\.95 hours/gm)).toHaveLength(2);
    expect(text).not.toContain('target 24.0 hours');
  });

  it('colours a change as better or worse only when the metric has a target', async () => {
    const { html, text } = await mail([SCORECARD], TARGETS);
    const changes = cellsIn(html).filter(({ text: shown }) => /^[▲▼]/.test(shown));
    expect(changes.map(({ className, text: shown }) => [shown.slice(0, 1), className])).toEqual([
      ['▲', ''],
      ['▼', 'worse'],
      // Less time is better.
      ['▼', 'better'],
    ]);
    // Colour is never the only sign.
    expect(text).toContain('▼ 3.0 pp from 86.0%, worse');
    expect(text).toContain('from 48.0 hours, better');
    const plain = await mail([SCORECARD], []);
    expect(cellsIn(plain.html).filter(({ className }) => /better|worse/.test(className))).toEqual([]);
    expect(plain.text).not.toMatch(/better|worse/);
  });

  it('lists breached figures first, and a figure of several sections once with its comparisons', async () => {
    const again = { ...SCORECARD, id: 'again', title: 'Again', comparisons: [] };
    const { text } = await mail([again, SCORECARD], TARGETS);
    const [, headlines = ''] = /HEADLINE\n([\s\S]*?)\n\n/.exec(text) ?? [];
    expect(headlines.split('\n').map((line) => line.trim())).toEqual([
      'Approval rate: 83.0%, target 90.0%: ■ breached (▼ 3.0 pp from 86.0%, worse)',
      // The largest change.
      'Time to decision (median): 24.0 hours, target 24.0 hours: ● on target (▼ 50% from 48.0 hours, better)',
      'Profiles created: 110 (▲ 10% from 100)',
    ]);
  });

  it('shows a target with all its decimals', async () => {
    const { text } = await mail([SCORECARD], [target({ metric: TIME, better: 'lower', target: '1.25h' })]);
    expect(text).toContain('target 1.25 hours');
    expect(text).not.toContain('target 1.3 hours');
  });

  it('names the status of each total below a chart', async () => {
    const days = ['2026-11-09', '2026-11-10'].map((bucket) => row({ bucket, [RATE]: 0.8 }));
    const charted = table({
      id: 'days',
      title: 'By day',
      granularity: 'day',
      columns: [bucketColumn, ratioColumn],
      rows: days,
      totals: { values: { [RATE]: 0.8 } },
      chart: 'line',
    });
    const { html } = await mail([charted], TARGETS);
    expect(html).toContain('Approval rate: ■ breached.');
  });

  it('is in German when the locale is German', async () => {
    const { text } = await mail([SCORECARD], TARGETS, 'de-CH');
    expect(text).toMatch(/83[.,]0\s?% \(■ [^,]+, Ziel 90[.,]0\s?%, beobachten 85[.,]0\s?%\)/);
  });
});
