import { describe, expect, it } from 'vitest';
import type { Dataset, Judgement, Row, Status, Table, TargetRecord } from '../../../src/fetch/dataset.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import { countColumn, dataset, durationColumn, groupColumn, row } from '../../support/dataset.ts';
import { monthTable, october, sectionOf } from './fixtures.ts';

/** Rows by group, judged as given. */
function judgedRows(
  figures: readonly { readonly group: string; readonly value: number | null; readonly status?: Status }[],
  { top = 20, goal = 10, worst }: { readonly top?: number; readonly goal?: number; readonly worst?: true } = {},
): Dataset {
  const exceptions = monthTable({
    id: 'exceptions',
    columns: [groupColumn, countColumn],
    rows: figures.map(({ group, value }) => row({ [groupColumn.name]: group, [countColumn.name]: value })),
    layout: { kind: 'exceptions', top, ...(worst && { worst }) },
  });
  const judgements = figures.flatMap(({ group, value, status }): Judgement[] =>
    status === undefined
      ? []
      : [
          {
            section: 'exceptions',
            metric: countColumn.name,
            bucket: null,
            group: { dimension: groupColumn.name, value: group },
            figure: value,
            status,
            target: 0,
          },
        ],
  );
  const targets: TargetRecord[] = [{ metric: countColumn.name, better: 'lower', target: goal, source: 'organization' }];
  return october([exceptions], { targets, judgements });
}

const shown = (of: Dataset) => {
  const section = sectionOf(buildPack(of).sections, 'exceptions');
  return section.rows.map((each): [Row['values'][string], Status | undefined] => [
    each.row.values[groupColumn.name] ?? null,
    each.status,
  ]);
};

describe('exceptions', () => {
  it('are the breached rows and then those on watch, ordered by distance from the target', () => {
    const of = judgedRows([
      { group: 'fine', value: 1, status: 'on_target' },
      { group: 'watched', value: 12, status: 'watch' },
      { group: 'bad', value: 20, status: 'breached' },
      { group: 'unjudged', value: 3 },
      { group: 'worse', value: 40, status: 'breached' },
      { group: 'no figure', value: null, status: 'undefined' },
      { group: 'more watched', value: 14, status: 'watch' },
    ]);
    expect(shown(of)).toEqual([
      ['worse', 'breached'],
      ['bad', 'breached'],
      ['more watched', 'watch'],
      ['watched', 'watch'],
    ]);
    const section = sectionOf(buildPack(of).sections, 'exceptions');
    expect(section.table.rows).toHaveLength(4);
    expect(section.notes[0]).toBe('4 of 7 rows are behind their target, worst first. 1 not judged.');
  });

  it('are empty when nothing is behind its target, and a text says so', () => {
    const of = (status: Status) =>
      judgedRows([
        { group: 'a', value: 1, status: 'on_target' },
        { group: 'b', value: 2, status },
      ]);
    const said = (data: Dataset, locale = 'en-GB') => {
      const section = sectionOf(buildPack(data, { locale }).sections, 'exceptions');
      expect(section.rows).toEqual([]);
      expect(section.table.rows).toEqual([]);
      return section.empty;
    };
    expect(said(of('on_target'))).toBe('Nothing is behind its target.');
    expect(said(of('undefined'))).toBe('Nothing is behind its target, 1 not judged.');
    expect(said(of('undefined'), 'de-CH')).toBe('Nichts liegt hinter dem Ziel, 1 nicht beurteilt.');
    const unjudged = judgedRows([{ group: 'a', value: 1 }]);
    expect(said(unjudged)).toBe('No target applies to these rows.');
    expect(said(unjudged, 'de-CH')).toBe('Für diese Zeilen gilt kein Ziel.');
  });

  it('with `worst` are the worst judged rows, whatever their status', () => {
    const of = judgedRows(
      [
        { group: 'good', value: 1, status: 'on_target' },
        { group: 'close', value: 9, status: 'on_target' },
        { group: 'bad', value: 20, status: 'breached' },
        { group: 'unjudged', value: 99 },
        { group: 'no figure', value: null, status: 'undefined' },
      ],
      { top: 2, worst: true },
    );
    expect(shown(of)).toEqual([
      ['bad', 'breached'],
      ['close', 'on_target'],
    ]);
    const note = (locale: string) => sectionOf(buildPack(of, { locale }).sections, 'exceptions').notes[0];
    expect(note('en-GB')).toBe('The worst 2 of 3 judged rows.');
    expect(note('de-CH')).toBe('Die schlechtesten 2 von 3 beurteilten Zeilen.');
  });

  it('are ordered by figure when the target is 0, and equal figures keep their order', () => {
    const of = judgedRows(
      [
        { group: 'a', value: 3, status: 'breached' },
        { group: 'b', value: 7, status: 'breached' },
        { group: 'c', value: 7, status: 'breached' },
      ],
      { goal: 0 },
    );
    expect(shown(of).map(([group]) => group)).toEqual(['b', 'c', 'a']);
  });

  it('are at most `top` rows, and a note says how many there are', () => {
    const many = Array.from({ length: 143 }, (_, index) => ({
      group: `g${index}`,
      value: index,
      status: index > 137 ? ('breached' as const) : ('on_target' as const),
    }));
    const of = judgedRows(many, { top: 4 });
    expect(shown(of).map(([group]) => group)).toEqual(['g142', 'g141', 'g140', 'g139']);
    const section = sectionOf(buildPack(of).sections, 'exceptions');
    expect(section.counts.of).toBe(143);
    expect(section.notes[0]).toBe('The worst 4 of 5 rows behind their target; 143 rows in all.');
    expect(sectionOf(buildPack(of, { locale: 'de-CH' }).sections, 'exceptions').notes[0]).toBe(
      'Die schlechtesten 4 von 5 Zeilen hinter ihrem Ziel; insgesamt 143 Zeilen.',
    );
  });

  it('take the worst status of the metrics of a row', () => {
    const both: Table = monthTable({
      id: 'exceptions',
      columns: [groupColumn, countColumn, durationColumn],
      rows: ['a', 'b'].map((group) =>
        row({ [groupColumn.name]: group, [countColumn.name]: 12, [durationColumn.name]: 100 }),
      ),
      layout: { kind: 'exceptions', top: 5 },
    });
    const judgement = (group: string, metric: string, status: Status, target: number): Judgement => ({
      section: 'exceptions',
      metric,
      bucket: null,
      group: { dimension: groupColumn.name, value: group },
      figure: metric === countColumn.name ? 12 : 100,
      status,
      target,
    });
    const of = dataset([both], {
      targets: [
        { metric: countColumn.name, better: 'lower', target: 10, source: 'organization' },
        { metric: durationColumn.name, better: 'lower', target: 50, source: 'organization' },
      ],
      judgements: [
        judgement('a', countColumn.name, 'watch', 0),
        judgement('a', durationColumn.name, 'on_target', 1),
        judgement('b', countColumn.name, 'watch', 0),
        judgement('b', durationColumn.name, 'breached', 1),
      ],
    });
    expect(shown(of)).toEqual([
      ['b', 'breached'],
      ['a', 'watch'],
    ]);
  });

  it('say so when there are no rows, without a note on numbers', () => {
    const section = sectionOf(buildPack(judgedRows([])).sections, 'exceptions');
    expect(section).toMatchObject({ rows: [], counts: { of: 0 }, notes: [] });
    expect(section.empty).toBeDefined();
  });
});
