import { expect, it } from 'vitest';
import type { Quantity } from '../../../../src/render/figures/quantity.ts';
import { panelXml } from '../../../../src/render/formats/xlsx/charts/panel-xml.ts';

it.each<[number, number, Quantity, string]>([
  [0.8996, 0.9, { kind: 'ratio' }, '0.00%'],
  [86_401, 86_400, { kind: 'duration', scale: 'hours' }, '#,##0.0000'],
  [0.85, 0.9, { kind: 'ratio' }, '0.0%'],
])(
  'the label of %d in a chart has enough decimals to tell it from the target %d',
  (value, target, quantity, format) => {
    const xml = panelXml(
      {
        title: 'A',
        quantity,
        categories: ['Oct', 'Nov'],
        values: [target / 2, value],
        partial: [false, false],
        target: [null, target],
        band: [],
        column: 1,
      },
      { sheet: 'Data', row: 1 },
      'en-GB',
    );
    expect(/<c:dLbl><c:idx val="1"\/><c:numFmt formatCode="([^"]*)"/.exec(xml)?.[1]).toBe(format);
  },
);
