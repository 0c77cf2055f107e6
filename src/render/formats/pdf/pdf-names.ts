import { readFile } from 'node:fs/promises';
import type { Dataset, Table } from '../../../fetch/dataset.ts';
import { type NameCodes, withCodedNames, withNameCodes } from '../../figures/name-codes.ts';
import type { PackTemplates } from './pack-templates.ts';
import { fontFiles, glyphCoverage } from './typst/font-coverage.ts';

/** Whether a font of the packs has a glyph for a character. */
export type Coverage = (character: string) => boolean;

/** That of the built-in fonts and those of the organization. */
export async function packCoverage({ fonts }: Pick<PackTemplates, 'fonts'>): Promise<Coverage> {
  const builtIn = await Promise.all(fontFiles().map((path) => readFile(path)));
  return glyphCoverage([...builtIn, ...fonts.map(Buffer.from)]);
}

/** The dataset with its code beside each name that the fonts cannot show in full: two of them would look alike. */
export function withPdfNames(dataset: Dataset, covers: Coverage): Dataset {
  const names: NameCodes = {
    shows: (text) => [...text].every(covers),
    write: ({ name, code }) => `${name} [${code}]`,
  };
  const { tables, codes } = withNameCodes(dataset.tables, names);
  if (codes.length === 0) return dataset;
  const shown = (text: string) => withCodedNames(text, codes, names);
  const filters = (table: Table): Table['filters'] =>
    table.filters.map((filter) => {
      if ('search' in filter) return filter;
      const label = shown(filter.label);
      return 'is' in filter
        ? { ...filter, label, is: filter.is.map(shown) }
        : { ...filter, label, isNot: filter.isNot.map(shown) };
    });
  return {
    ...dataset,
    tables: tables.map((table) => ({ ...table, filters: filters(table) })),
    ...(dataset.headlines === undefined ? {} : { headlines: dataset.headlines.map(shown) }),
  };
}
