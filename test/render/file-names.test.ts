import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { safeFileName } from '../../src/base/files/safe-path.ts';
import { assertDistinctNames, type NameVariables, renderFileName } from '../../src/render/file-names.ts';
import { sheetNames } from '../../src/render/formats/xlsx/sheet-names.ts';
import { PERIOD } from '../support/dataset.ts';

const variables: NameVariables = {
  period: PERIOD,
  org: 'acme',
  report: 'weekly-kpi',
  title: 'KPIs: a/b',
  section: { id: 'onboarding', title: 'Onboarding' },
};

describe('a file name', () => {
  it('is made from its template, with safe characters and the extension of the format', () => {
    expect(renderFileName('{{ title }} {{ period.label }}', variables, '.xlsx')).toBe('KPIs- a-b 2026-W46.xlsx');
    expect(renderFileName('{{ org }}-{{ section.id }}.CSV', variables, '.csv')).toBe('acme-onboarding.csv');
  });

  it.each([
    ['../../etc/passwd', '-..-etc-passwd.csv'],
    ['C:\\windows\\x', 'C-windows-x.csv'],
    ['...hidden', 'hidden.csv'],
    ['CON', '_CON.csv'],
    ['com1.report', '_com1.report.csv'],
    ['a\u0000b\nc\td', 'abcd.csv'],
    ['gpj\u202e.exe', 'gpj.exe.csv'],
    ['gpj\u061c.exe', 'gpj.exe.csv'],
    ['g\u200bp\u2060j\u206a.exe', 'gpj.exe.csv'],
    ['می\u200cخواهم', 'می\u200cخواهم.csv'],
    [' . ', 'report.csv'],
    ['trailing. . ', 'trailing.csv'],
  ])('%j becomes %j', (stem, name) => {
    expect(safeFileName(stem, '.csv')).toBe(name);
  });

  it('is safe for any text, and does not change when it is made safe again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (stem) => {
        const name = safeFileName(stem, '.xlsx');
        expect([...name].length).toBeLessThanOrEqual(120);
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
        expect(name).not.toMatch(/[/\\:*?"<>|\u0000-\u001f]|^\.|^(con|prn|aux|nul)\./i);
        expect(safeFileName(name.slice(0, -'.xlsx'.length), '.xlsx')).toBe(name);
      }),
    );
  });

  it('keeps its extension when it is cut, and is not cut inside a grapheme', () => {
    const name = safeFileName('👩‍👩‍👧'.repeat(100), '.xlsx');
    expect(name.endsWith('👩‍👩‍👧.xlsx')).toBe(true);
  });

  it('is rejected when two files share it, regardless of case', () => {
    expect(() =>
      assertDistinctNames([
        { name: 'KPIs.csv', label: 'one' },
        { name: 'kpis.csv', label: 'two' },
      ]),
    ).toThrow(expect.objectContaining({ code: 'render.failed', got: '"kpis.csv" twice' }));
  });
});

describe('sheet names', () => {
  it('are valid and unique regardless of case, and numbered when they collide', () => {
    expect(
      sheetNames(['Durations', 'durations', "[a]: b/c\\d*? '", '', 'History', 'x'.repeat(40), 'x'.repeat(35)], 'Sheet'),
    ).toEqual([
      'Durations',
      'durations (2)',
      '-a-- b-c-d-- ’',
      'Sheet',
      'History (2)',
      'x'.repeat(31),
      `${'x'.repeat(27)} (2)`,
    ]);
  });

  it('are valid and unique for any titles', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 60 }), { maxLength: 30 }), (titles) => {
        const names = sheetNames(titles, 'Sheet');
        expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(titles.length);
        for (const name of names) {
          expect(name.length).toBeGreaterThan(0);
          expect(name.length).toBeLessThanOrEqual(31);
          expect(name).not.toMatch(/[[\]:*?/\\']/);
        }
      }),
    );
  });
});
