import { attributeOf } from '../package/attributes.ts';
import type { TemplatePackage } from '../package/template-package.ts';
import { tokenizeXmlStream } from '../package/tokenize-xml.ts';
import type { TemplateProblem } from '../template-problem.ts';
import { formatCell, formatRange, parseRange } from '../workbook/addresses.ts';
import type { CellRange } from '../workbook/cells.ts';
import type { TemplateWorkbook } from '../workbook/workbook.ts';
import type { TemplateBindings } from './bindings.ts';
import { quoted } from './problem-text.ts';

const isIn = ({ row, column }: CellRange['from'], { from, to }: CellRange): boolean =>
  row >= from.row && row <= to.row && column >= from.column && column <= to.column;

const isSingle = ({ from, to }: CellRange): boolean => from.row === to.row && from.column === to.column;

/** Streams the sheet: merged areas stand behind its cells. */
async function mergedAreas(template: TemplatePackage, part: string): Promise<readonly CellRange[]> {
  const areas: CellRange[] = [];
  for await (const tokens of tokenizeXmlStream(await template.openPart(part), part)) {
    for (const token of tokens) {
      if (token.kind !== 'open' || token.local !== 'mergeCell') continue;
      const range = parseRange(attributeOf(token, 'ref') ?? '');
      if (range !== undefined) areas.push(range);
    }
  }
  return areas;
}

/**
 * Bound names that point to several cells which are not one merged area, or to a cell that a merged area hides.
 * Throws `template.invalid` for a sheet that cannot be read.
 */
export async function findNameProblems(
  template: TemplatePackage,
  { sheets }: Pick<TemplateWorkbook, 'sheets'>,
  { names }: Pick<TemplateBindings, 'names'>,
): Promise<readonly TemplateProblem[]> {
  const problems: TemplateProblem[] = [];
  for (const { name: sheet, part } of sheets) {
    const targets = names.flatMap(({ name: { name, target } }) =>
      target?.sheet === sheet ? [{ name, range: target.range }] : [],
    );
    if (targets.length === 0) continue;
    const merged = await mergedAreas(template, part);
    for (const { name, range } of targets) {
      const area = merged.find((each) => isIn(range.from, each));
      const isWhole = area === undefined ? isSingle(range) : isIn(range.to, area);
      const isFirst = area === undefined || formatCell(area.from) === formatCell(range.from);
      if (isWhole && isFirst) continue;
      problems.push({
        severity: 'error',
        code: 'workbook.unknown',
        at: { sheet, cell: formatRange(range) },
        expected: `one cell, or one merged area, for ${quoted(name)}`,
        got: isWhole && area !== undefined ? `a cell inside the merged area ${formatRange(area)}` : formatRange(range),
        next: `let the name point to ${formatCell(area?.from ?? range.from)}`,
      });
    }
  }
  return problems;
}
