import { describe, expect, it } from 'vitest';
import { parseComment } from '../../../src/definitions/commentary/comment-text.ts';
import type { TableNote } from '../../../src/fetch/notes.ts';
import { withComments } from '../../../src/render/figures/comments/printed-comments.ts';
import { figureReferences, resolveNote, unknownReferences } from '../../../src/render/figures/comments/references.ts';
import { judgeDataset } from '../../../src/render/figures/judge.ts';
import { dataset, groupColumn, onboarding, row, workload } from '../../support/dataset.ts';

const judged = judgeDataset(
  dataset([onboarding, workload]),
  [{ metric: 'rfis.overdue', better: 'lower', target: 5, source: 'report' }],
  { sections: [] },
);
const known = figureReferences(judged, 'en-GB');
const textOf = (name: string) => known.get(name)?.text;

describe('figureReferences', () => {
  it('contains totals and single rows as the pack prints them, in the language of the report', () => {
    expect(textOf('onboarding.profiles.created')).toBe('6,390');
    expect(textOf('onboarding.profiles.created.previous')).toBe('6,290');
    expect(textOf('onboarding.profiles.created.change')).toBe('+1.6%');
    expect(textOf('onboarding.profiles.approval_rate')).toBe('83.6%');
    expect(textOf('onboarding.profiles.approval_rate.change')).toBe('+0.6 pp');
    expect(textOf('workload.rfis.overdue')).toBe('0');
    expect(textOf('workload.rfis.overdue.status')).toBe('on target');
    const german = figureReferences(judged, 'de');
    expect(german.get('onboarding.profiles.created')?.text).toBe('6.390');
  });

  it('contains the rows of groups by value, labelled with the names that readers know', () => {
    const columns = [
      { ...groupColumn, name: 'risk', values: [{ value: 'severe', label: 'Severe' }] },
      ...onboarding.columns.slice(1, 2),
    ];
    const rows = [
      row({ risk: 'severe', 'profiles.created': 12 }),
      row({ risk: null, 'profiles.created': 3 }),
      row({ risk: '}}', 'profiles.created': 4 }),
    ];
    const { totals: _, ...plain } = onboarding;
    const found = figureReferences(dataset([{ ...plain, granularity: null, comparisons: [], columns, rows }]), 'en');
    expect([...found.values()].map(({ name, text }) => [name, text])).toEqual([
      ['onboarding.profiles.created[severe]', '12'],
    ]);
    expect(found.get('onboarding.profiles.created[severe]')?.label).toBe('Profiles created (Severe)');
    expect(unknownReferences('{{ onboarding.profiles.created[severe] }}', found)).toEqual([]);
    expect(unknownReferences('{{ onboarding.profiles.created[sever] }}', found)[0]?.near).toBe(
      'onboarding.profiles.created[severe]',
    );
  });

  it('contains no status without a target, no change without a comparison, and no rows of lists', () => {
    expect(textOf('onboarding.profiles.created.status')).toBeUndefined();
    expect(textOf('workload.alerts.open.change')).toBeUndefined();
    const list = { ...workload, columns: [{ ...groupColumn, kind: 'field' } as const, ...workload.columns] };
    expect([...figureReferences(dataset([list]), 'en').keys()].filter((name) => name.includes('['))).toEqual([]);
  });

  it('shows a dash for an undefined figure', () => {
    const undefinedTotal = { ...onboarding, totals: { values: { 'profiles.created': null } } };
    expect(figureReferences(dataset([undefinedTotal]), 'en').get('onboarding.profiles.created')?.text).toBe('–');
  });

  it('contains no current counts that the API does not report', () => {
    const of = { why: 'late', due: '2026-11-16', timezone: 'Europe/Zurich' } as const;
    const undefinedCounts: TableNote = {
      code: 'undefined',
      message: { id: 'counts_undefined', of },
      incomplete: true,
    };
    expect(figureReferences(dataset([{ ...workload, notes: [undefinedCounts] }]), 'en').size).toBe(0);
  });

  it('prefers a metric whose name equals the change of another metric', () => {
    const [count] = onboarding.columns.slice(1);
    if (count === undefined) throw new Error('no column');
    const columns = [count, { ...count, name: 'profiles.created.change' }];
    const totals = { values: { 'profiles.created': 5, 'profiles.created.change': 77 } };
    const found = figureReferences(dataset([{ ...onboarding, columns, totals }]), 'en');
    expect(found.get('onboarding.profiles.created.change')?.text).toBe('77');
  });
});

describe('unknownReferences', () => {
  it.each([
    ['{{ onboarding.profiles.created }} and {{onboarding.profiles.created.change}}', []],
    [
      '{{ onboarding.profiles.creatd }}',
      [{ typed: '{{ onboarding.profiles.creatd }}', near: 'onboarding.profiles.created' }],
    ],
    ['{{ }}', [{ typed: '{{ }}' }]],
    ['{{ constructor }}', [{ typed: '{{ constructor }}' }]],
    ['{{ onboarding.profiles.created\n}}', [{ typed: '{{ onboarding.profiles.created\n}}' }]],
    ['{{ onboarding.profiles.created', [{ typed: '{{ onboarding.profiles.created' }]],
    ['a { b } c', []],
  ])('finds the unknown references in %j', (text, unknown) => {
    expect(unknownReferences(text, known)).toEqual(unknown);
  });
});

describe('resolveNote', () => {
  it('inserts figures into text, emphasis and lists', () => {
    expect(resolveNote('*{{ workload.alerts.open }}* open\n- {{ workload.rfis.overdue }} late', known)).toEqual([
      { kind: 'paragraph', spans: [{ text: '37', emphasis: 'em' }, { text: ' open' }] },
      { kind: 'list', ordered: false, items: [[{ text: '0 late' }]] },
    ]);
  });

  it('never reads a figure as markup', () => {
    const figures = new Map([['a.b', { name: 'a.b', section: 'a', label: 'A', text: '*1* {{ a.b }}' }]]);
    expect(resolveNote('{{ a.b }}', figures)).toEqual([{ kind: 'paragraph', spans: [{ text: '*1* {{ a.b }}' }] }]);
  });

  it('shows a dash for a figure that no longer exists', () => {
    expect(resolveNote('{{ gone.away }}', known)).toEqual(parseComment('–'));
  });
});

describe('withComments', () => {
  it('orders comments like the sections of the report, and leaves out those of unknown sections', () => {
    const typed = ['workload', 'gone', null, 'onboarding'].map((section) => ({
      section,
      text: '{{ workload.alerts.open }}',
      author: 'Ann',
      at: Date.parse('2026-11-16T08:00:00Z'),
    }));
    expect(withComments(judged, typed, 'en').comments).toEqual(
      [null, 'onboarding', 'workload'].map((section) => ({
        section,
        blocks: parseComment('37'),
        author: 'Ann',
        at: '2026-11-16T08:00:00.000Z',
      })),
    );
    expect(withComments(judged, [], 'en')).toBe(judged);
  });
});
