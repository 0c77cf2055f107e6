import type { DurationUnit } from '../../../definitions/schema/values/units.ts';
import { relationshipKind } from '../package/relationships.ts';
import type { TemplatePackage } from '../package/template-package.ts';
import { tokenizeXml } from '../package/tokenize-xml.ts';
import { findWorkbookPart } from '../package/workbook-part.ts';
import { attributeOf } from '../package/xml-tokens.ts';
import { type ProblemPlace, quoted, type TemplateProblem } from '../template-problem.ts';
import { formatCell } from '../workbook/addresses.ts';
import { bodyRows } from '../workbook/workbook.ts';
import { headerAt } from './bind-tables.ts';
import type { ColumnTarget, ReportOutline, TemplateBindings } from './bindings.ts';
import { durationNamed, withoutBrackets } from './header-units.ts';

type Unit = DurationUnit | 'seconds';

/** A cell with a duration. For a column it is the first cell below the header. */
export interface DurationCell {
  readonly at: Required<ProblemPlace>;
  readonly unit: Unit;
  /** The name or header in which the unit is missing. Absent: it names a unit, or the report does. */
  readonly unnamed?: { readonly at: ProblemPlace; readonly got: string; readonly next: string };
}

/** The cells of a template that are filled with durations. */
export function durationCells(
  { names, tables }: Pick<TemplateBindings, 'names' | 'tables'>,
  { sections }: ReportOutline,
): readonly DurationCell[] {
  const isDuration = (section: string, { column, figure }: ColumnTarget): boolean =>
    figure !== undefined &&
    figure.figure !== 'status' &&
    figure.figure !== 'change' &&
    sections.find(({ id }) => id === section)?.columns.find(({ name }) => name === column)?.unit === 'seconds';
  return [
    ...names.flatMap(({ name, target }): DurationCell[] => {
      if (target.kind !== 'figure' || name.target === undefined || !isDuration(target.section, target.target))
        return [];
      const at = { sheet: name.target.sheet, cell: formatCell(name.target.range.from) };
      const { unit } = target.target;
      if (unit !== undefined || name.name.trim().toLowerCase().endsWith('.seconds'))
        return [{ at, unit: unit ?? 'seconds' }];
      return [{ at, unit: 'seconds', unnamed: { at, got: quoted(name.name), next: 'add .hours or .seconds' } }];
    }),
    ...tables.flatMap(({ table, section, columns }) =>
      columns.flatMap((target, index): DurationCell[] => {
        if (target === null || !isDuration(section, target)) return [];
        const column = table.range.from.column + index;
        const at = { sheet: table.sheet, cell: formatCell({ row: bodyRows(table).first, column }) };
        const { header = '' } = table.columns[index] ?? {};
        if (target.unit !== undefined || withoutBrackets(header).some(({ unit }) => durationNamed(unit) !== undefined))
          return [{ at, unit: target.unit ?? 'seconds' }];
        const next = 'add (hours) or (seconds) to the header';
        return [{ at, unit: 'seconds', unnamed: { at: headerAt(table, index), got: quoted(header), next } }];
      }),
    ),
  ];
}

/** @param format number format of the cell. Undefined: a built-in one, none of which names a unit */
export function unitProblems({ at, unit, unnamed }: DurationCell, format: string | undefined): TemplateProblem[] {
  const named = format === undefined ? undefined : unitOfFormat(format);
  if (format !== undefined && named !== undefined && named !== unit) {
    return [
      {
        severity: 'error',
        code: 'workbook.unit',
        at,
        expected: `a number format for ${unit}, which the cell gets`,
        got: `${quoted(format)}, a format for ${named}`,
        next: unnamed === undefined ? `let the format name ${unit}` : `${unnamed.next}, as the format says`,
      },
    ];
  }
  if (unnamed === undefined) return [];
  return [
    {
      severity: 'warning',
      code: 'workbook.unit',
      at: unnamed.at,
      expected: 'a duration with its unit: without one it is in seconds',
      got: unnamed.got,
      next: unnamed.next,
    },
  ];
}

/** The unit in a number format: `0.0 "h"`, `0\ \d`. Formats of elapsed time such as `[h]:mm` expect days. */
export function unitOfFormat(format: string): Unit | undefined {
  if (/\[(?:h+|m+|s+)\]/i.test(format)) return 'days';
  const [positive = ''] = format.split(';');
  const literal = [...positive.matchAll(/"([^"]*)"|\\(.)/g)].map(([, text, escaped]) => text ?? escaped ?? '').join('');
  return (literal.match(/\p{L}+/gu) ?? []).map(durationNamed).find((unit) => unit !== undefined);
}

/** The number formats by index of the cell style; undefined for built-in formats. */
export async function readNumberFormats(template: TemplatePackage): Promise<readonly (string | undefined)[]> {
  const relationships = await template.relationships(await findWorkbookPart(template));
  const styles = relationships.find((each) => !each.external && relationshipKind(each) === 'styles');
  if (styles === undefined || !template.has(styles.target)) return [];
  const codes = new Map<string, string>();
  const formats: (string | undefined)[] = [];
  let inCells = false;
  for (const token of tokenizeXml(await template.readText(styles.target), styles.target)) {
    if (token.kind === 'close' && token.local === 'cellXfs') inCells = false;
    if (token.kind !== 'open') continue;
    if (token.local === 'cellXfs') inCells = true;
    else if (token.local === 'numFmt')
      codes.set(attributeOf(token, 'numFmtId') ?? '', attributeOf(token, 'formatCode') ?? '');
    else if (token.local === 'xf' && inCells) formats.push(codes.get(attributeOf(token, 'numFmtId') ?? ''));
  }
  return formats;
}
