import { closestMatches } from '../../../definitions/diagnostics/suggest.ts';
import { quoted, sample, type TemplateProblem } from '../template-problem.ts';
import type { TemplateWorkbook } from '../workbook/workbook.ts';
import { bindNames } from './bind-names.ts';
import { bindTables } from './bind-tables.ts';
import type { BoundName, BoundTable, ReportOutline, SectionOutline, TemplateBindings } from './bindings.ts';
import { nameKey } from './names.ts';

interface Bound {
  readonly tables: readonly BoundTable[];
  readonly names: readonly BoundName[];
}

/** The columns of a section that the template shows in tables or cells. */
function shownColumns({ id }: SectionOutline, { tables, names }: Bound): ReadonlySet<string> {
  return new Set([
    ...tables.flatMap(({ section, columns }) =>
      section === id ? columns.flatMap((column) => column?.column ?? []) : [],
    ),
    ...names.flatMap(({ target }) => (target.kind === 'figure' && target.section === id ? [target.target.column] : [])),
  ]);
}

function sectionUse(
  section: SectionOutline,
  bound: Bound,
  { labelsKnown }: ReportOutline,
  own: readonly string[],
): TemplateProblem | undefined {
  const { id } = section;
  // A template has no place for the paragraphs of a text.
  if (section.text) return undefined;
  const unused = (got: string, expected: string, next: string): TemplateProblem => ({
    severity: 'warning',
    code: 'workbook.unused',
    expected,
    got,
    next,
  });
  const tables = bound.tables.filter((each) => each.section === id);
  const shown = shownColumns(section, bound);
  if (tables.length === 0 && shown.size === 0) {
    const [near] = closestMatches(nameKey(id), own);
    return unused(
      'a template that shows nothing of it',
      `a table for section ${quoted(id)}`,
      near === undefined
        ? `name a table ${nameKey(id)}, or give it the alternative text (title) docket:${id}`
        : `table ${quoted(near)} has a name like it: call it ${nameKey(id)}, or give it the alternative text (title) docket:${id}`,
    );
  }
  // A header that is not an id may be a label of the API.
  const mayBeLabels = !labelsKnown && tables.some(({ columns }) => columns.includes(null));
  if (section.list || mayBeLabels) return undefined;
  const left = section.columns.filter(({ name, kind }) => !shown.has(name) && (tables.length > 0 || kind === 'metric'));
  if (left.length === 0) return undefined;
  return unused(
    sample(left.map(({ name }) => name)),
    `every column of section ${quoted(id)} in the template`,
    'add a column with its id or label as the header, or leave it out of the section',
  );
}

/** Warns if a reader of the workbook would not see missing figures, comments, approval or corrections. */
function reviewUse(
  { sections, incomplete, approval, corrections, commented }: ReportOutline,
  { names }: Bound,
): TemplateProblem[] {
  const missing = (what: string, name: string): TemplateProblem => ({
    severity: 'warning',
    code: 'workbook.unused',
    expected: `a cell named ${name}`,
    got: `a template that does not show ${what}`,
    next: `name a cell ${name}`,
  });
  const hasText = (of: string) => names.some(({ target }) => target.kind === 'text' && target.of === of);
  return [
    ...(incomplete && !hasText('completeness') ? [missing('whether figures are missing', 'docket.completeness')] : []),
    ...(approval && !hasText('approval') ? [missing('who approved the report', 'docket.approval')] : []),
    ...(corrections && !hasText('correction')
      ? [missing('what a corrected edition changes', 'docket.correction')]
      : []),
    ...sections.flatMap(({ id }) =>
      !commented.includes(id) || names.some(({ target }) => target.kind === 'comment' && target.section === id)
        ? []
        : [missing(`the comments on section ${quoted(id)}`, `docket.comment.${nameKey(id)}`)],
    ),
  ];
}

/**
 * Binds tables and cells of a workbook to the values of a report, by their names and headers. Problems of tables and
 * names come first, in the order of the workbook; then the parts of the report that are not shown. Pure.
 */
export function bindTemplate(workbook: TemplateWorkbook, outline: ReportOutline): TemplateBindings {
  const tables = bindTables(workbook, outline);
  const names = bindNames(workbook, outline, tables.tables);
  const bound: Bound = { tables: tables.tables, names: names.names };
  const boundTables = new Set(bound.tables.map(({ table }) => table));
  const own = workbook.tables.flatMap((table) => (boundTables.has(table) ? [] : [table.name.toLowerCase()]));
  return {
    ...bound,
    problems: [
      ...tables.problems,
      ...names.problems,
      ...outline.sections.flatMap((section) => sectionUse(section, bound, outline, own) ?? []),
      ...reviewUse(outline, bound),
    ],
  };
}
