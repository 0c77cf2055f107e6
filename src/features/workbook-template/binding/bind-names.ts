import { type ProblemPlace, quoted, sample, type TemplateProblem } from '../template-problem.ts';
import { type CellRange, formatRange } from '../workbook/addresses.ts';
import { bodyRows, type DefinedName, type TemplateWorkbook } from '../workbook/workbook.ts';
import type { BoundName, BoundTable, ReportOutline } from './bindings.ts';
import { addition, collectFigures } from './figure-names.ts';
import { FIXED_NAMES, type NameReading, nameKey, readName } from './names.ts';
import { nameText } from './target-text.ts';

type Target = NonNullable<DefinedName['target']>;

const nameAt = ({ target, scope }: DefinedName): { readonly at?: ProblemPlace } => {
  if (target !== undefined) return { at: { sheet: target.sheet, cell: formatRange(target.range) } };
  return scope === null ? {} : { at: { sheet: scope } };
};

const overlap = (a: CellRange, b: CellRange): boolean =>
  a.from.row <= b.to.row && b.from.row <= a.to.row && a.from.column <= b.to.column && b.from.column <= a.to.column;

const isSame = (a: Target, b: Target): boolean => a.sheet === b.sheet && overlap(a.range, b.range);

const renaming = (closest: string | undefined): string =>
  closest === undefined ? 'rename or delete it' : `rename it to ${quoted(closest)}, or delete it`;

/** The problem of a name that gets no value. */
function readingProblem(
  name: DefinedName,
  read: Exclude<NameReading, { kind: 'bound' | 'other' }>,
  { sections }: ReportOutline,
): TemplateProblem {
  const about = { severity: 'error', ...nameAt(name), got: quoted(name.name) } as const;
  switch (read.kind) {
    case 'ambiguous':
      return {
        ...about,
        code: 'workbook.ambiguous',
        expected: 'a name that fits only one section or metric',
        got: `${quoted(name.name)}, which can mean ${read.ids.map(quoted).join(' or ')}`,
        next: 'give one of the two another id, or show its figures in a table',
      };
    case 'no_totals':
      return {
        ...about,
        code: 'workbook.unknown',
        expected: `a section with totals; ${quoted(read.section)} has rows only`,
        next: 'add "totals: true" to the section',
      };
    case 'unknown': {
      const section = sections.find(({ id }) => id === read.section);
      if (section === undefined) {
        return {
          ...about,
          code: 'workbook.unknown',
          expected: `a value of the report (${sample(FIXED_NAMES)}, or docket.<section>.<metric>)`,
          next: renaming(read.closest),
        };
      }
      const { suffix } = read;
      const metrics = section.columns.flatMap((column) => (column.kind === 'metric' ? [nameKey(column.name)] : []));
      const has = collectFigures(section).flatMap(({ suffixes }) => suffixes.filter((each) => each !== ''));
      return {
        ...about,
        code: 'workbook.unknown',
        expected:
          suffix === undefined
            ? `a metric of section ${quoted(section.id)} (${metrics.length === 0 ? 'it has none' : sample(metrics)})`
            : `a figure that section ${quoted(section.id)} has: ${has.join(', ')}`,
        next: suffix === undefined ? renaming(read.closest) : `${addition(suffix)}, or delete the name`,
      };
    }
  }
}

/** The problem of a cell that cannot get the value of its name. */
function cellProblem(
  name: DefinedName,
  { sheets }: Pick<TemplateWorkbook, 'sheets'>,
  tables: readonly BoundTable[],
): TemplateProblem | undefined {
  const about = { severity: 'error', ...nameAt(name) } as const;
  const { target } = name;
  if (target === undefined || !sheets.some(({ name: sheet, kind }) => sheet === target.sheet && kind === 'worksheet')) {
    return {
      ...about,
      code: 'workbook.unknown',
      expected: `${quoted(name.name)} at one cell, e.g. Board!$B$4`,
      got: quoted(name.formula),
      next: 'let the name point to one cell, or delete it',
    };
  }
  const inside = tables.find(({ table }) => {
    const { range } = table;
    // Names may point into a totals row, so that Docket's total stands there.
    const filled = { from: range.from, to: { ...range.to, row: bodyRows(table).last } };
    return table.sheet === target.sheet && overlap(filled, target.range);
  });
  if (inside === undefined) return undefined;
  return {
    ...about,
    code: 'workbook.ambiguous',
    expected: `a cell outside the rows of table ${quoted(inside.table.name)}, which section ${quoted(inside.section)} fills`,
    got: quoted(name.name),
    next: 'let the name point to another cell',
  };
}

export interface BoundNames {
  readonly names: readonly BoundName[];
  readonly problems: readonly TemplateProblem[];
}

/**
 * The defined names of a workbook that get a value. Whether the cells of a name are one merged area is not known here.
 * @param tables the bound tables
 */
export function bindNames(
  workbook: Pick<TemplateWorkbook, 'names' | 'sheets'>,
  outline: ReportOutline,
  tables: readonly BoundTable[],
): BoundNames {
  const bound: BoundName[] = [];
  const problems: TemplateProblem[] = [];
  for (const name of workbook.names) {
    const read = readName(name.name, outline);
    if (read.kind === 'other') continue;
    if (read.kind !== 'bound') {
      problems.push(readingProblem(name, read, outline));
      continue;
    }
    const problem = cellProblem(name, workbook, tables);
    if (problem !== undefined) {
      problems.push(problem);
      continue;
    }
    const other = bound.find(
      (each) =>
        each.name.target !== undefined &&
        name.target !== undefined &&
        isSame(each.name.target, name.target) &&
        nameText(each.target) !== nameText(read.target),
    );
    if (other !== undefined) {
      problems.push({
        severity: 'error',
        code: 'workbook.ambiguous',
        ...nameAt(name),
        expected: 'one name for a cell',
        got: `${quoted(other.name.name)} and ${quoted(name.name)}`,
        next: 'let one of them point to another cell',
      });
      continue;
    }
    bound.push({ name, target: read.target });
  }
  return { names: bound, problems };
}
