import { describe, expect, it } from 'vitest';
import type { Output } from '../../../src/definitions/schema/kinds.ts';
import type { FigureChange, Judgement, TargetRecord } from '../../../src/fetch/dataset.ts';
import { renderEmail } from '../../../src/render/email/render-email.ts';
import { formatApart } from '../../../src/render/figures/format-value.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import { countColumn, dataset, MADE_AT, onboarding, row, table, typeColumn } from '../../support/dataset.ts';
import { cellsOf, readWorkbook } from '../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../support/render-folder.ts';
import { correction } from '../../support/reviewed-dataset.ts';

const { render } = useRenderFolder();
const grouped = table({
  id: 'types',
  title: 'By type',
  columns: [typeColumn, countColumn],
  rows: [row({ 'profile.type': 'entity', 'profiles.created': 3 })],
});
const change = (more: Partial<FigureChange>): FigureChange => ({
  section: 'onboarding',
  metric: 'profiles.created',
  bucket: null,
  group: null,
  before: 1,
  after: 2,
  ...more,
});
const corrected = (changes: readonly FigureChange[]) => ({
  ...dataset([onboarding, grouped]),
  correction: correction(changes),
});
const CHANGES = [
  change({ bucket: '2026-11-10', before: 1204, after: 1250 }),
  change({
    metric: 'profiles.approval_rate',
    before: 0.91,
    after: 0.836,
    statusBefore: 'on_target',
    statusAfter: 'breached',
  }),
  change({ metric: 'profiles.time_to_decision_p50', before: null, after: 19_011.5 }),
  change({ section: 'types', group: { dimension: 'profile.type', value: 'entity' }, before: 3, after: 0 }),
  change({
    section: 'types',
    group: { dimension: 'profile.type', value: 'entity' },
    within: { dimension: 'profile.risk', value: 'high' },
  }),
];
const SENTENCES = [
  'Onboarding: Profiles created (Tue 10 Nov 2026): 1,250, was 1,204',
  'Onboarding: Approval rate: 83.6%, was 91.0%; ■ breached, was ● on target',
  'Onboarding: Time to decision (median): 5.3 hours, was –',
  'By type: Profiles created (Entity (KYB)): 0, was 3',
  'By type: Profiles created (Entity (KYB), high): 2, was 1',
];

it('the first page says that the report repeats a delivered period', () => {
  const repeated = { ...dataset([onboarding]), repeats: { run: 'f'.repeat(32), at: '2026-11-03T09:56:00.000Z' } };
  const of = (locale?: string) => buildPack(repeated, { locale }).correction;
  expect(of()).toMatchObject({
    text: 'Repeated copy, after the delivery of 3 November 2026',
    run: 'f'.repeat(32),
    runLabel: 'Repeats run',
    changes: [],
  });
  expect(of('de-CH')?.text).toBe('Erneut versandt, nach dem Versand vom 3. November 2026');
  // A corrected edition says only that it is corrected.
  expect(buildPack({ ...corrected([]), repeats: repeated.repeats }).correction?.text).toMatch(/^Corrected/);
});

describe('a corrected edition', () => {
  it('names the edition that it replaces, and lists changed figures as the pack shows them', () => {
    expect(buildPack(corrected(CHANGES)).correction).toEqual({
      text: 'Corrected, replaces the edition of 3 November 2026',
      reason: '',
      run: 'f'.repeat(32),
      runLabel: 'Replaces run',
      heading: '5 figures changed',
      total: 5,
      changes: SENTENCES,
      more: '',
    });
    expect(buildPack(corrected(CHANGES), { locale: 'de-CH' }).correction).toMatchObject({
      text: 'Korrigiert, ersetzt die Ausgabe vom 3. November 2026',
      changes: SENTENCES.map(() => expect.stringContaining(', zuvor ')),
    });
    expect(buildPack(dataset([onboarding])).correction).toBeUndefined();
  });

  it('adds decimals to two figures that would be rounded to the same text', () => {
    expect(formatApart(0.81, 0.810_04, { kind: 'ratio' }, 'en-GB')).toEqual(['81.000%', '81.004%']);
    expect(formatApart(7200, 7201, { kind: 'duration', scale: 'hours' }, 'en-GB')).toEqual([
      '2.0000 hours',
      '2.0003 hours',
    ]);
    expect(formatApart(1, 2, { kind: 'count' }, 'en-GB')).toEqual(['1', '2']);
  });

  it('shows changed figures with enough decimals to tell them from their target', () => {
    const target = (metric: string, value: number): TargetRecord => ({
      metric,
      better: metric === 'profiles.approval_rate' ? 'higher' : 'lower',
      target: value,
      source: 'report',
    });
    const judgement = (metric: string, index: number): Judgement => ({
      section: 'onboarding',
      metric,
      bucket: null,
      group: null,
      figure: null,
      status: 'on_target',
      target: index,
    });
    const of = (changes: readonly FigureChange[]) =>
      buildPack({
        ...corrected(changes),
        targets: [target('profiles.approval_rate', 0.9), target('profiles.time_to_decision_p50', 86_400)],
        judgements: [judgement('profiles.approval_rate', 0), judgement('profiles.time_to_decision_p50', 1)],
      }).correction?.changes;
    expect(
      of([
        change({ metric: 'profiles.approval_rate', before: 0.8996, after: 0.91 }),
        change({ metric: 'profiles.time_to_decision_p50', before: 86_401, after: 80_000 }),
        change({ metric: 'profiles.approval_rate', before: null, after: 0.8996 }),
        change({ metric: 'profiles.approval_rate', before: 0.8, after: 0.91 }),
      ]),
    ).toEqual([
      'Onboarding: Approval rate: 91.00%, was 89.96%',
      'Onboarding: Time to decision (median): 22.2222 hours, was 24.0003 hours',
      'Onboarding: Approval rate: 89.96%, was –',
      'Onboarding: Approval rate: 91.0%, was 80.0%',
    ]);
  });

  it('lists 40 changes, and counts the others, which the sheet “Run” lists', async () => {
    const many = Array.from({ length: 45 }, (_, index) => change({ after: index + 2 }));
    const { changes, more, heading } = buildPack(corrected(many)).correction ?? {};
    expect(changes).toHaveLength(40);
    expect(more).toContain('5');
    expect(heading).toContain('45');
    const artifacts = await render(corrected(many), [{ format: 'xlsx' }] as Output[]);
    const book = readWorkbook(artifactNamed(artifacts, '.xlsx').path);
    const texts = (sheet: string) => cellsOf(book, sheet).flatMap((cells) => cells.flatMap((cell) => cell?.v ?? []));
    expect(texts('Summary')).toContain(`${more} → Run`);
    const listed = texts('Run').filter((text) => String(text).startsWith('Onboarding: Profiles created: '));
    expect(listed).toEqual([42, 43, 44, 45, 46].map((figure) => `Onboarding: Profiles created: ${figure}, was 1`));
  });

  it('describes a figure that the report no longer has by its ids', () => {
    const [gone] =
      buildPack(corrected([change({ section: 'gone', metric: 'm.x', bucket: 'q' })])).correction?.changes ?? [];
    expect(gone).toMatch(/^gone: m\.x: 2, was 1$/);
  });

  it('says that it is corrected in file names, on the first page of the workbook, and in the e-mail', async () => {
    const outputs = [{ format: 'xlsx', name: 'KPIs' }, { format: 'csv' }] as Output[];
    const artifacts = await render(corrected(CHANGES), outputs);
    const ending = ' (corrected, replaces the edition of 3 Nov 2026)';
    expect(artifacts.map(({ name }) => name)).toEqual([
      `KPIs${ending}.xlsx`,
      `Weekly compliance KPIs 2026-W46 onboarding${ending}.csv`,
      `Weekly compliance KPIs 2026-W46 onboarding${ending}.schema.json`,
      `Weekly compliance KPIs 2026-W46 onboarding${ending}.totals.csv`,
      `Weekly compliance KPIs 2026-W46 onboarding${ending}.totals.schema.json`,
      `Weekly compliance KPIs 2026-W46 types${ending}.csv`,
      `Weekly compliance KPIs 2026-W46 types${ending}.schema.json`,
    ]);
    const book = readWorkbook(artifactNamed(artifacts, '.xlsx').path);
    const texts = cellsOf(book, 'Summary').flatMap((cells) => cells.flatMap((cell) => cell?.v ?? []));
    for (const sentence of SENTENCES) expect(texts).toContain(`– ${sentence}`);
    const run = cellsOf(book, 'Run').flatMap((cells) => cells.flatMap((cell) => cell?.v ?? []));
    expect(run).toContain('f'.repeat(32));

    const options = { run: '0'.repeat(32), madeAt: MADE_AT };
    const full = await renderEmail(corrected([...CHANGES, ...CHANGES]), artifacts, options);
    expect(full.text).toContain('Corrected, replaces the edition of 3 November 2026');
    expect(full.text).toContain(`* ${SENTENCES[0]}`);
    expect(full.text).toContain('4 more figures changed.');
    const many = Array.from({ length: 45 }, (_, index) => change({ after: index + 2 }));
    expect((await renderEmail(corrected(many), artifacts, options)).text).toContain('39 more figures changed.');
    const notice = await renderEmail(corrected(CHANGES), artifacts, { ...options, body: 'notice' });
    expect(notice.text).toContain('Corrected, replaces the edition of 3 November 2026');
    for (const sentence of SENTENCES) expect(notice.text + notice.html).not.toContain(sentence);
  });

  it('keeps its mark in a long file name, and a first edition has no mark', async () => {
    const outputs = [{ format: 'xlsx', name: '{{ title }}'.padEnd(301, ' x') }] as Output[];
    const [first] = await render(dataset([onboarding]), outputs);
    const [second] = await render(corrected(CHANGES), outputs, { locale: 'de-DE' });
    expect(second?.name).toMatch(/x \(korrigiert, ersetzt die Ausgabe vom 3\. Nov\. 2026\)\.xlsx$/);
    expect(second?.name.length).toBeLessThanOrEqual(120);
    expect(second?.name.length).toBeGreaterThan(115);
    expect(first?.name).toMatch(/x\.xlsx$/);
  });
});
