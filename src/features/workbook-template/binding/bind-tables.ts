import { closestMatches } from '../../../definitions/diagnostics/suggest.ts';
import { type ProblemPlace, quoted, sample, type TemplateProblem } from '../template-problem.ts';
import { formatCell, formatRange } from '../workbook/addresses.ts';
import type { TemplateTable, TemplateWorkbook } from '../workbook/workbook.ts';
import type { BoundTable, ColumnTarget, ReportOutline, SectionOutline } from './bindings.ts';
import { type HeaderReading, headerReader } from './column-headers.ts';
import { addition, collectFigures } from './figure-names.ts';
import { sectionsNamed } from './names.ts';

/** The title of a table's alternative text that names a section. */
const TITLE = /^\s*docket:\s*(.*?)\s*$/i;

const tableAt = ({ sheet, range }: TemplateTable): ProblemPlace => ({ sheet, cell: formatRange(range) });

/** The cell of a column's header. In a table without headers, its first cell. */
export const headerAt = ({ sheet, range: { from } }: TemplateTable, index: number): ProblemPlace => ({
  sheet,
  cell: formatCell({ row: from.row, column: from.column + index }),
});

type FoundSection = SectionOutline | TemplateProblem | undefined;

/**
 * The section that fills a table. A problem if the table names a section that does not exist; undefined if the table is
 * not meant for Docket.
 */
function findSection(table: TemplateTable, { sections }: ReportOutline): FoundSection {
  const [, requestedId] = TITLE.exec(table.title ?? '') ?? [];
  const name = requestedId ?? table.name;
  // The exact id, because alternative text distinguishes `a-b` from `a_b`.
  const exact = requestedId === undefined ? undefined : sections.find(({ id }) => id === requestedId.toLowerCase());
  const found = exact === undefined ? sectionsNamed(sections, name) : [exact];
  const [section] = found;
  const at = tableAt(table);
  if (section === undefined) {
    if (requestedId === undefined) return undefined;
    const ids = sections.map(({ id }) => id);
    const [closest] = closestMatches(requestedId, ids);
    return {
      severity: 'error',
      code: 'workbook.unknown',
      at,
      expected: `a section of the report behind "docket:" in the alternative text of the table (${sample(ids)})`,
      got: quoted(requestedId),
      next: closest === undefined ? 'name a section of the report' : `write "docket:${closest}"`,
    };
  }
  if (found.length > 1) {
    const ids = found.map(({ id }) => id);
    return {
      severity: 'error',
      code: 'workbook.ambiguous',
      at,
      expected: 'a name that fits only one section',
      got: `${quoted(name)}, which can mean ${ids.map(quoted).join(' or ')}`,
      next: `give the table the alternative text (title) docket:${ids[0]} or docket:${ids[1]}`,
    };
  }
  if (section.text) {
    return {
      severity: 'error',
      code: 'workbook.unknown',
      at,
      expected: 'a section with figures or a list',
      got: `${quoted(section.id)}, a section of text`,
      next: `give the table another name; a cell named docket.comment.${section.id.replaceAll('-', '_')} gets its comment`,
    };
  }
  return section;
}

/** The possible headers for a section, for a problem's text. */
const columnIds = ({ columns }: SectionOutline): string => sample(columns.map(({ name }) => name));

/** The problem of a header that gets no values; undefined if the column may be the author's own. */
function headerProblem(
  read: Exclude<HeaderReading, { kind: 'bound' }>,
  { table, index, section }: HeaderContext,
): TemplateProblem | undefined {
  const at = headerAt(table, index);
  const { header = '' } = table.columns[index] ?? {};
  const problem = (code: TemplateProblem['code'], expected: string, next: string): TemplateProblem => ({
    severity: 'error',
    code,
    at,
    expected,
    got: quoted(header),
    next,
  });
  switch (read.kind) {
    case 'ambiguous':
      return problem(
        'workbook.ambiguous',
        `a label that only one column of ${quoted(section.id)} has`,
        `write an id instead: ${read.ids.join(' or ')}`,
      );
    case 'unit':
      return problem(
        'workbook.unknown',
        `a unit that ${read.id} has`,
        `leave the unit out, or write ${quoted(read.id)}`,
      );
    case 'figure': {
      const suffixes = collectFigures(section).flatMap(({ suffixes: each }) => each.filter((suffix) => suffix !== ''));
      return problem(
        'workbook.unknown',
        `a figure that section ${quoted(section.id)} has: ${suffixes.join(', ')}`,
        `remove ${quoted(read.suffix)}, or ${addition(read.suffix)}`,
      );
    }
    case 'unknown':
      // The service determines the fields of a list. For a header that is no id, the cells show whether it is meant for
      // Docket.
      if (section.list || !read.id) return undefined;
      return problem(
        'workbook.unknown',
        `a column of section ${quoted(section.id)} (${columnIds(section)})`,
        `${read.closest === undefined ? 'name a column of the section' : `rename it to ${quoted(read.closest)}`}, or write a header that is not an id`,
      );
  }
}

interface HeaderContext {
  readonly table: TemplateTable;
  readonly index: number;
  readonly section: SectionOutline;
}

/** The author's own table whose name is almost that of a section without a table. Its sample rows would stay. */
function misspelled(table: TemplateTable, unfilled: readonly SectionOutline[]): readonly TemplateProblem[] {
  const [closest] = closestMatches(
    table.name,
    unfilled.map(({ id }) => id.replaceAll('-', '_')),
  );
  if (closest === undefined) return [];
  return [
    {
      severity: 'warning',
      code: 'workbook.unknown',
      at: tableAt(table),
      expected: 'the id of a section as the name of the table',
      got: `${quoted(table.name)}, whose rows stay as they are`,
      next: `rename it to ${quoted(closest)}, or check that the table is your own`,
    },
  ];
}

export interface BoundTables {
  readonly tables: readonly BoundTable[];
  readonly problems: readonly TemplateProblem[];
}

/** Finds the tables of a workbook that the report fills. */
export function bindTables({ tables }: Pick<TemplateWorkbook, 'tables'>, outline: ReportOutline): BoundTables {
  const bound: BoundTable[] = [];
  const problems: TemplateProblem[] = [];
  const own: TemplateTable[] = [];
  const readers = new Map<SectionOutline, ReturnType<typeof headerReader>>();
  for (const table of tables) {
    const section = findSection(table, outline);
    if (section === undefined) {
      own.push(table);
      continue;
    }
    if ('severity' in section) {
      problems.push(section);
      continue;
    }
    const read = readers.get(section) ?? headerReader(section);
    readers.set(section, read);
    const columns = table.columns.map(({ header }, index): ColumnTarget | null => {
      const found = read(header);
      if (found.kind === 'bound') return found.target;
      const problem = headerProblem(found, { table, index, section });
      if (problem !== undefined) problems.push(problem);
      return null;
    });
    if (columns.every((column) => column === null) && outline.labelsKnown && !section.list) {
      problems.push({
        severity: 'error',
        code: 'workbook.unknown',
        at: tableAt(table),
        expected: `a header for a column of section ${quoted(section.id)} (${columnIds(section)})`,
        got: `table ${quoted(table.name)} without one`,
        next: 'write ids or labels into its headers, or give the table another name',
      });
    }
    bound.push({ table, section: section.id, columns });
  }
  const filled = new Set(bound.map(({ section }) => section));
  const unfilled = outline.sections.filter(({ id, text }) => !text && !filled.has(id));
  return { tables: bound, problems: [...problems, ...own.flatMap((table) => misspelled(table, unfilled))] };
}
