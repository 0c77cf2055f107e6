import { readFile } from 'node:fs/promises';
import type { Dataset, Table } from '../../../fetch/dataset.ts';
import { glyphCoverage, showsInFull } from '../../charts/font-coverage.ts';
import { codedName, type NameCode, type NameCodes, withCodedNames, withNameCodes } from '../../figures/name-codes.ts';
import type { PackTemplates } from './pack-templates.ts';
import { fontFiles } from './typst/font-files.ts';

/** Whether a font of the packs has a glyph for a character. */
export type Coverage = (character: string) => boolean;

/** The coverage of the built-in fonts and those of the organization. */
export async function packCoverage({ fonts }: Pick<PackTemplates, 'fonts'>): Promise<Coverage> {
  const builtIn = await Promise.all(fontFiles().map((path) => readFile(path)));
  return glyphCoverage([...builtIn, ...fonts.map(Buffer.from)]);
}

/** Adds the code to each name that the fonts cannot show in full, because two such names would look alike. */
export function withPdfNames(dataset: Dataset, covers: Coverage): Dataset {
  const names: NameCodes = {
    shows: (text) => showsInFull(text, covers),
    write: ({ name, code }) => `${name} [${code}]`,
  };
  const { tables, codes } = withNameCodes(dataset.tables, names);
  const titles = tables.flatMap(({ title, id }): NameCode[] =>
    names.shows(title) ? [] : [{ name: title, code: id, of: 'section' }],
  );
  const all = [...codes, ...titles];
  if (all.length === 0) return dataset;
  const coded = (name: string, of: NameCode['of']): string =>
    codedName(
      name,
      all.filter((each) => each.of === of),
      names,
    );
  const filters = (table: Table): Table['filters'] =>
    table.filters.map((filter) => {
      if ('search' in filter) return filter;
      const label = coded(filter.label, 'dimension');
      const groups = (texts: readonly string[]) => texts.map((text) => coded(text, 'group'));
      return 'is' in filter
        ? { ...filter, label, is: groups(filter.is) }
        : { ...filter, label, isNot: groups(filter.isNot) };
    });
  return {
    ...dataset,
    tables: tables.map((table) => ({
      ...table,
      title: names.shows(table.title) ? table.title : names.write({ name: table.title, code: table.id }),
      filters: filters(table),
    })),
    ...(dataset.headlines === undefined ? {} : { headlines: withCodedNames(dataset.headlines, all, names) }),
  };
}
