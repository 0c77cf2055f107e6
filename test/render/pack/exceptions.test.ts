import { describe, expect, it } from 'vitest';
import type { Dataset, Judgement, Row, Status, Table, TargetRecord } from '../../../src/fetch/dataset.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import { countColumn, dataset, durationColumn, groupColumn, row } from '../../support/dataset.ts';
import { monthTable, october, sectionOf } from './fixtures.ts';

/** Rows by group, judged as given. */
function judgedRows(
  figures: readonly { readonly group: string; readonly value: number | null; readonly status?: Status }[],
  { top = 20, goal = 10 }: { readonly top?: number; readonly goal?: number } = {},
): Dataset {
  const exceptions = monthTable({
    id: 'exceptions',
    columns: [groupColumn, countColumn],
    rows: figures.map(({ group, value }) => row({ [groupColumn.name]: group, [countColumn.name]: value })),
    layout: { kind: 'exceptions', top },
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
  it('are breached rows, then those on watch, by their distance from the target, then the rest in order', () => {
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
      ['fine', 'on_target'],
      ['unjudged', undefined],
      ['no figure', 'undefined'],
    ]);
  });

  it('beside a target of 0 are ordered by their figures; equal ones stay in order', () => {
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

  it('are at most `top`, and a note says of how many', () => {
    const many = Array.from({ length: 143 }, (_, index) => ({
      group: `g${index}`,
      value: index,
      status: index > 140 ? ('breached' as const) : ('on_target' as const),
    }));
    const of = judgedRows(many, { top: 4 });
    expect(shown(of).map(([group]) => group)).toEqual(['g142', 'g141', 'g0', 'g1']);
    const section = sectionOf(buildPack(of).sections, 'exceptions');
    expect(section.of).toBe(143);
    expect(section.notes[0]).toBe('4 of 143 rows, worst first.');
    expect(sectionOf(buildPack(of, { locale: 'de-CH' }).sections, 'exceptions').notes[0]).toBe(
      '4 von 143 Zeilen, die schlechtesten zuerst.',
    );
  });

  it('without a status are the first rows of the table, and say so', () => {
    const of = judgedRows(
      Array.from({ length: 30 }, (_, index) => ({ group: `g${index}`, value: index })),
      { top: 3 },
    );
    expect(shown(of)).toEqual([
      ['g0', undefined],
      ['g1', undefined],
      ['g2', undefined],
    ]);
    expect(sectionOf(buildPack(of).sections, 'exceptions').notes[0]).toBe('The first 3 of 30 rows.');
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

  it('without rows say so and have no note of a number', () => {
    const section = sectionOf(buildPack(judgedRows([])).sections, 'exceptions');
    expect(section).toMatchObject({ rows: [], of: 0, notes: [] });
    expect(section.empty).toBeDefined();
  });
});
