import type { TemplateBindings } from '../binding/bindings.ts';
import { columnText } from '../binding/target-text.ts';
import type { ReferenceMap } from '../growth/growth.ts';
import { formatCell, formatRange, quoteSheetName } from '../workbook/addresses.ts';
import type { FilledWorkbook } from './filled-workbook.ts';
import type { TableFill } from './sheet/sheet-fill.ts';

/** What of a template was filled. @param tables in the order of the bindings */
export function describeFilled(
  { name, sha256 }: { readonly name: string; readonly sha256: string },
  bindings: TemplateBindings,
  tables: readonly TableFill[],
  map: ReferenceMap,
): FilledWorkbook {
  return {
    template: name,
    sha256,
    tables: bindings.tables.map(({ table, section, columns }, index) => ({
      name: table.name,
      sheet: table.sheet,
      range: formatRange(map.range(table.sheet, table.range, 'body')),
      section,
      rows: tables[index]?.length ?? 0,
      columns: table.columns.map(({ header }, column) => {
        const target = columns[column];
        return { header, bound: target ? `${section}.${columnText(target)}` : null };
      }),
    })),
    names: bindings.names.flatMap(({ name: { name: text, target } }) => {
      if (target === undefined) return [];
      const { sheet, range } = target;
      return [{ name: text, cell: `${quoteSheetName(sheet)}!${formatCell(map.cell(sheet, range.from))}` }];
    }),
  };
}
