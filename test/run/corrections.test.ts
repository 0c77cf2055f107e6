import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DeliverySpec } from '../../src/definitions/schema/report-definition.ts';
import { sendDecisionFor } from '../../src/deliver/send-decision.ts';
import type { Column, Dataset, Row, Table } from '../../src/fetch/dataset.ts';
import { compareEditions, isMaterial } from '../../src/run/corrections/compare-editions.ts';
import { collectBoundaries, editionFiguresSchema, editionSections } from '../../src/run/corrections/edition-figures.ts';
import { evaluateConditions } from '../../src/run/delivery-conditions.ts';
import { cases } from '../support/fuzz.ts';

const column = (name: string, unit: string, more: Partial<Column> = {}): Column => ({
  name,
  label: name,
  kind: 'metric',
  type: 'number',
  unit,
  ...more,
});
const dimension: Column = { name: 'team', label: 'Team', kind: 'dimension', type: 'enum', unit: null };
const bucket: Column = { name: 'bucket', label: 'Week', kind: 'time', type: 'date', unit: null };
const COUNT = column('created', 'count');
const RATIO = column('rate', 'ratio');
const row = (values: Row['values'], partial = false): Row => ({ values, partial });
const table = (rows: readonly Row[], more: Partial<Table> = {}): Table => ({
  id: 's',
  title: 'S',
  granularity: null,
  current: false,
  period: { from: '2026-10-01', to: '2026-10-31', timezone: 'UTC', label: '2026-10' },
  range: { from: '2026-10-01', to: '2026-10-31' },
  comparisons: [],
  asOf: '2026-11-01T07:00:00Z',
  running: false,
  columns: [dimension, COUNT, RATIO],
  rows,
  filters: [],
  notes: [],
  ...more,
});
const sectionsOf = (...tables: Table[]) => editionSections({ tables }, []);
const corrections = { watch: 86_400, materiality: 0.01, on_correction: 'notify_owner' as const };
const compare = (before: Table, after: Table, judged: Pick<Dataset, 'judgements' | 'targets'> = {}) =>
  compareEditions(
    { sections: sectionsOf(before), boundaries: collectBoundaries(judged), corrections },
    sectionsOf(after),
  );

test.each([
  // Counts and durations are compared relatively. A change that equals the limit is material.
  [1_000, 1_009, 'count', false],
  [1_000, 1_010, 'count', true],
  [1_000, 989, 'seconds', true],
  // Ratios are compared in percentage points.
  [0.5, 0.509, 'ratio', false],
  [0.5, 0.51, 'ratio', true],
  [0.005, 0, 'ratio', false],
  // Every change from 0 is material.
  [0, 0.005, 'ratio', true],
  [0, 1, 'count', true],
  [1, 0, 'count', true],
  [null, 0.5, 'ratio', true],
  [0.5, null, 'ratio', true],
  [null, null, 'ratio', false],
  [0.1 + 0.2, 0.3, 'seconds', false],
])('a change from %s to %s (%s) is material: %s', (before, after, unit, material) => {
  expect(isMaterial(before, after, unit, 0.01)).toBe(material);
});

test('a comparison finds exactly the figures that changed, the material ones first', () => {
  const figure = fc.integer({ min: 0, max: 1_000 });
  const rows = fc.uniqueArray(fc.record({ team: fc.constantFrom('a', 'b', 'c', 'd'), created: figure }), {
    selector: ({ team }) => team,
  });
  fc.assert(
    fc.property(rows, rows, (old, now) => {
      const shown = (all: typeof old) => table(all.map((values) => row({ ...values, rate: 0.5 })));
      const { changes, material } = compare(shown(old), shown(now));
      const countOf = (all: typeof old, team: string) => all.find((one) => one.team === team)?.created ?? 0;
      const expected = ['a', 'b', 'c', 'd'].filter((team) => countOf(old, team) !== countOf(now, team));
      const counted = changes.filter(({ metric }) => metric === 'created');
      expect(counted.map(({ group }) => group?.value).sort()).toEqual(expected);
      for (const { group, before, after } of counted) {
        expect([before, after]).toEqual([countOf(old, group?.value ?? ''), countOf(now, group?.value ?? '')]);
      }
      const isOne = ({ metric, before, after }: (typeof changes)[number]) =>
        isMaterial(before, after, metric === 'created' ? 'count' : 'ratio', 0.01);
      expect(changes.map(isOne)).toEqual(changes.map((_, index) => index < material));
    }),
    cases(200),
  );
});

test('a change of status is material, however small the change of the figure', () => {
  const judged = {
    targets: [{ metric: 'created', better: 'lower' as const, target: 1_000, source: 'report' as const }],
    judgements: [
      {
        section: 's',
        metric: 'created',
        bucket: null,
        group: null,
        figure: 1_000,
        status: 'on_target' as const,
        target: 0,
      },
    ],
  };
  const totals = (created: number) => table([], { totals: { values: { created, rate: null } } });
  expect(compare(totals(1_000), totals(1_001), judged)).toEqual({
    changes: [
      {
        section: 's',
        metric: 'created',
        bucket: null,
        group: null,
        before: 1_000,
        after: 1_001,
        statusBefore: 'on_target',
        statusAfter: 'breached',
      },
    ],
    material: 1,
  });
  expect(compare(totals(999), totals(1_000), judged).material).toBe(0);
});

describe('changes that are never a correction', () => {
  const [old, now] = [[row({ team: 'a', created: 1, rate: 0.1 })], [row({ team: 'a', created: 9, rate: 0.9 })]];
  const incomplete: Table['notes'] = [{ code: 'truncated', message: { id: 'cut', of: { rows: 1 } }, incomplete: true }];
  test.each<[string, Partial<Table>]>([
    ['current counts', { current: true }],
    ['readings of current counts', { readings: [] }],
    ['a running period', { running: true }],
    ['lists, and what has no range', { range: null }],
    ['cohort metrics', { columns: [dimension, { ...COUNT, provisional: true }, { ...RATIO, provisional: true }] }],
    ['deprecated metrics', { columns: [dimension, { ...COUNT, replacedBy: null }, { ...RATIO, replacedBy: 'x' }] }],
    ['incomplete tables', { notes: incomplete }],
    ['partial buckets', { rows: old.map(({ values }) => row(values, true)) }],
  ])('%s', (_what, more) => {
    expect(compare(table(old, more), table(now)).changes).toEqual([]);
    expect(compare(table(old), table(now, { ...more, rows: more.rows ?? now })).changes).toEqual([]);
    expect(compare(table(old), table(now)).material).toBe(2);
  });

  test('a row that was cut by a limit, and a bucket that had not ended', () => {
    const limited = (rows: readonly Row[]) => editionSections({ tables: [table(rows)] }, [{ id: 's', limit: 1 }]);
    const before = { sections: limited(old), boundaries: [], corrections };
    expect(compareEditions(before, limited([row({ team: 'b', created: 5, rate: 0 })])).changes).toEqual([]);
    const weeks = (partial: boolean) =>
      table([row({ bucket: '2026-10-26', created: 5, rate: 0.2 }, partial)], { columns: [bucket, COUNT, RATIO] });
    expect(compare(weeks(true), weeks(false)).changes).toEqual([]);
  });
});

test('the figures of an edition survive JSON and its schema unchanged', () => {
  const sections = sectionsOf(table([row({ team: null, created: 3, rate: null })]));
  const figures = {
    version: 1 as const,
    run: 'r',
    org: 'acme',
    report: 'weekly',
    digest: 'd',
    period: table([]).period,
    corrections,
    definition: {},
    settings: {},
    sections,
    boundaries: [],
  };
  expect(editionFiguresSchema.parse(JSON.parse(JSON.stringify(figures)))).toEqual(figures);
});

test('a corrected edition goes to those who received the first one, whatever send_if says, and to nobody when nothing changed', async () => {
  const deliveries: DeliverySpec[] = [
    { email: { to: ['A@acme.example', 'b@acme.example'], attach: [] }, send_if: 'created > 1000000' },
    { email: { to: ['c@acme.example'], attach: [] } },
    { directory: { path: 'out' } } as DeliverySpec,
  ];
  const dataset = {
    tables: [],
    correction: {
      replaces: { run: 'first', at: '2026-11-03T09:00:00Z' },
      changes: [{ section: 's', metric: 'created', bucket: null, group: null, before: 1, after: 2 }],
      recipients: [
        { target: '0-email', recipient: 'a@acme.example' },
        { target: '2-directory', recipient: 'out' },
      ],
    },
  };
  const { conditions, figures } = await evaluateConditions(
    dataset,
    { org: 'acme', report: 'weekly', deliveries },
    undefined,
  );
  expect(figures).toBeUndefined();
  const manifest = { conditions, corrects: { run: 'first' } };
  const sends = (target: string, recipient: string) => sendDecisionFor(manifest, { target, recipient })?.send;
  expect([
    sends('0-email', 'a@acme.example'),
    sends('0-email', 'b@acme.example'),
    sends('1-email', 'c@acme.example'),
    sends('2-directory', 'out'),
    // No decision exists for an address that is not in the definition.
    sends('0-email', 'd@acme.example'),
  ]).toEqual([true, false, false, true, false]);
  // The service has reverted the change: an edition that corrects nothing is not sent.
  const unchanged = { ...dataset, correction: { ...dataset.correction, changes: [] } };
  const none = await evaluateConditions(unchanged, { org: 'acme', report: 'weekly', deliveries }, undefined);
  expect(none.conditions.map(({ send }) => send)).toEqual([false, false, false, false]);
});
