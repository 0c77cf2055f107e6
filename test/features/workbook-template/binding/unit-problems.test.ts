import { expect, test } from 'vitest';
import type { ReportOutline } from '../../../../src/features/workbook-template/binding/bindings.ts';
import { headerReader } from '../../../../src/features/workbook-template/binding/column-headers.ts';
import { readName } from '../../../../src/features/workbook-template/binding/names.ts';
import { outlineOfDefinition } from '../../../../src/features/workbook-template/binding/outline.ts';
import {
  durationCells,
  unitOfFormat,
  unitProblems,
} from '../../../../src/features/workbook-template/binding/unit-problems.ts';
import { CATALOG, definitionOf } from '../../../support/reports.ts';

const P50 = 'profiles.time_to_decision_p50';

function outline(more: Parameters<typeof definitionOf>[1] = {}): ReportOutline {
  const catalog = {
    ...CATALOG,
    metrics: CATALOG.metrics.map((metric) =>
      metric.id === 'profiles.created' ? { ...metric, id: P50, unit: 'seconds' } : metric,
    ),
  };
  return outlineOfDefinition(definitionOf([{ id: 'kpis', metrics: [P50] }], more), catalog, {
    units: { [P50]: 'days' },
  });
}

/** The problems of a cell with this name and this number format. */
function problems(name: string, format: string | undefined, more?: Parameters<typeof definitionOf>[1]) {
  const read = readName(name, outline(more));
  if (read.kind !== 'bound') throw new Error(`${name} is ${read.kind}`);
  const at = { row: 1, column: 1 };
  const defined = { name, scope: null, formula: '', target: { sheet: 'S', range: { from: at, to: at } } };
  const cells = durationCells({ names: [{ name: defined, target: read.target }], tables: [] }, outline(more));
  return cells.flatMap((cell) => unitProblems(cell, format)).map(({ severity, next }) => [severity, next]);
}

test('a duration without a unit causes a warning, unless its name or the report sets the unit', () => {
  const name = `docket.kpis.${P50}`;
  expect(problems(name, undefined)).toEqual([['warning', 'add .hours or .seconds']]);
  expect(problems(`${name}.hours`, undefined)).toEqual([]);
  expect(problems(`${name}.seconds`, undefined)).toEqual([]);
  expect(problems(name, undefined, { units: { [P50]: 'hours' } })).toEqual([]);
  expect(problems(name, '0.0 "days"', { workbook_units: 'report' })).toEqual([]);
});

test('a number format with another unit than the cell is an error', () => {
  const name = `docket.kpis.${P50}`;
  expect(problems(name, '#,##0.0 "h"')).toEqual([['error', 'add .hours or .seconds, as the format says']]);
  expect(problems(`${name}.hours`, '#,##0.0 "h"')).toEqual([]);
  expect(problems(`${name}.hours`, '0" Tage"')).toEqual([['error', 'let the format name hours']]);
  expect(problems(`${name}.seconds`, '[h]:mm')).toEqual([['error', 'let the format name seconds']]);
});

test('formats name units in quotes or by escaped letters, in English and German', () => {
  expect(
    ['0.0 "h"', '0\\ \\d', '0.0" Std."', '#,##0 "median"', '0.0', '[hh]:mm', '0 "Sekunden";-0 "h"'].map(unitOfFormat),
  ).toEqual(['hours', 'days', 'hours', undefined, undefined, 'days', 'seconds']);
});

test('the header of a column can set seconds as its unit, as the name of a cell can', () => {
  const [section] = outline({ workbook_units: 'report' }).sections;
  if (section === undefined) throw new Error('no section');
  const read = headerReader(section);
  expect(read(`${P50} (seconds)`)).toMatchObject({ kind: 'bound', target: { column: P50 } });
  expect(read(`${P50} (seconds)`)).not.toHaveProperty('target.unit');
  expect(read(P50)).toMatchObject({ target: { unit: 'days' } });
});
