import { describe, expect, it } from 'vitest';
import { buildSummary } from '../../../src/render/email/summary.ts';
import { withPdfNames } from '../../../src/render/formats/pdf/pdf-names.ts';
import { countColumn, dataset, groupColumn, row, table } from '../../support/dataset.ts';

const groups = (...values: readonly (readonly [value: string, label: string])[]) => ({
  ...groupColumn,
  values: values.map(([value, label]) => ({ value, label })),
});
const rowsOf = (values: readonly string[]) =>
  values.map((value, at) => row({ [groupColumn.name]: value, [countColumn.name]: at + 1 }));

describe('the picture in an e-mail', () => {
  it.each(['① East', '★', '☆', 'Ａ', 'Ｂ', '𝐀𝐁', '🚀', '\uf001lag', '東京'])('shows a code for %s', (name) => {
    const columns = [groups(['strange', name], ['plain', 'Zürich – Łódź “<b>” €']), countColumn];
    const cities = table({ id: 'c', chart: 'bar', columns, rows: rowsOf(['strange', 'plain']) });
    const [section] = buildSummary({ dataset: dataset([cities]), locale: 'en-GB' }).sections;
    expect(section?.drawn?.categories).toEqual(['strange', 'Zürich – Łódź “<b>” €']);
    expect(section?.codes).toMatchObject([{ name, code: 'strange' }]);
  });
});

describe('a name that the fonts of a PDF lack', () => {
  const latin = (character: string): boolean => character < '\u3000';

  it('is followed by the id of the section that it names', () => {
    const of = (id: string, title: string) => table({ id, title, columns: [countColumn], rows: rowsOf([]) });
    const pack = dataset([of('tyo', '東京'), of('osa', '大阪'), of('zrh', 'Zürich')], { headlines: ['大阪: 東京 1.'] });
    const { tables, headlines } = withPdfNames(pack, latin);
    expect(tables.map(({ title }) => title)).toEqual(['東京 [tyo]', '大阪 [osa]', 'Zürich']);
    expect(headlines).toEqual(['大阪 [osa]: 東京 [tyo] 1.']);
  });

  it('is followed by its own code where it contains another name', () => {
    const columns = [groups(['e', '東'], ['tyo', '東京']), { ...countColumn, label: '東' }];
    const filters = [{ label: 'City', is: ['東京', '東'] }];
    const pack = dataset([table({ id: 'c', columns, filters, rows: rowsOf(['e', 'tyo']) })], {
      headlines: ['東京: 2. 大東 is no name.', '東: 3.'],
    });
    const { tables, headlines } = withPdfNames(pack, latin);
    expect(tables[0]?.filters).toEqual([{ label: 'City', is: ['東京 [tyo]', '東 [e]'] }]);
    expect(tables[0]?.columns[1]?.label).toBe('東 [profiles.created]');
    // A sentence does not say whether it means the group or the metric.
    expect(headlines).toEqual([
      '東京 [tyo]: 2. 大東 [e, profiles.created] is no name.',
      '東 [e, profiles.created]: 3.',
    ]);
  });
});
