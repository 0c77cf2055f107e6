/** A table's name and its place in the workbook. */
export const TableName = ({
  table: { name, sheet, range },
}: {
  readonly table: Record<'name' | 'sheet' | 'range', string>;
}) => (
  <td class="wrap">
    <strong>{name}</strong>{' '}
    <small>
      {sheet}!{range}
    </small>
  </td>
);

/** A column of a table in a workbook, and what fills it. */
export interface BoundColumn {
  readonly header: string;
  /** Null: the author's own formulas or cells. */
  readonly bound: string | null;
}

/**
 * The columns of a table, folded, because most people look for a single one. @param section its id: all bindings of the
 * table begin with it
 */
export const TableColumns = ({
  columns,
  section,
}: {
  readonly columns: readonly BoundColumn[];
  readonly section: string;
}) => (
  <details class="fold">
    <summary>
      {columns.filter(({ bound }) => bound !== null).length} of {columns.length} filled
    </summary>
    <ul class="plain-list compact">
      {columns.map(({ header, bound }) => (
        <li class="wrap">
          {header}{' '}
          {bound === null ? (
            <small>as in the template</small>
          ) : (
            <small>
              <code>{withoutSection(bound, section)}</code>
            </small>
          )}
        </li>
      ))}
    </ul>
  </details>
);

const withoutSection = (bound: string, section: string): string =>
  bound.startsWith(`${section}.`) ? bound.slice(section.length + 1) : bound;
