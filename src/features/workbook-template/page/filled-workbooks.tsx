import { formatCounted, formatInteger } from '../../../admin/page/components/format-numbers.ts';
import { Section, Table } from '../../../admin/page/components/layout.tsx';
import type { FileEntry } from '../../../services/runs/run-file-reader.ts';
import { TableColumns, TableName } from './columns.tsx';

type Filled = NonNullable<FileEntry['workbook']>;

/** What the workbooks of a run were filled with. Empty if no workbook has a template. */
export const FilledWorkbooks = ({ files }: { readonly files: readonly FileEntry[] }) => (
  <>
    {files.map(({ name, workbook }) =>
      workbook === undefined ? null : <FilledWorkbook name={name} filled={workbook} />,
    )}
  </>
);

const FilledWorkbook = ({
  name,
  filled: { template, sha256, defined_sha256: defined, tables, names },
}: FilledProps) => (
  <Section id="workbook" heading="Workbook">
    <p>
      {name} is the template {template} <code title={`SHA-256 ${sha256}`}>{sha256.slice(0, 12)}</code> with{' '}
      {formatCounted(tables.length, 'table')} and {formatCounted(names.length, 'named cell')} filled.
    </p>
    {defined === undefined ? null : (
      <p>
        The template has changed since the report was loaded, with{' '}
        <code title={`SHA-256 ${defined}`}>{defined.slice(0, 12)}</code>.
      </p>
    )}
    {tables.length === 0 ? null : (
      <Table
        caption={`Tables filled in ${name}`}
        columns={['Table', 'Section', 'Rows', 'Columns']}
        classes={{ Rows: 'number' }}
      >
        {tables.map(({ section, rows, columns, ...table }) => (
          <tr>
            <TableName table={table} />
            <td data-name="Section" class="wrap">
              {section}
            </td>
            <td data-name="Rows" class="number">
              {formatInteger(rows)}
            </td>
            <td data-name="Columns">
              <TableColumns columns={columns} section={section} />
            </td>
          </tr>
        ))}
      </Table>
    )}
    {names.length === 0 ? null : (
      <details class="fold">
        <summary>{formatCounted(names.length, 'named cell')}</summary>
        <ul class="plain-list compact">
          {names.map((each) => (
            <li class="wrap">
              <code>{each.name}</code> <small>{each.cell}</small>
            </li>
          ))}
        </ul>
      </details>
    )}
  </Section>
);

interface FilledProps {
  /** The name of the file. */
  readonly name: string;
  readonly filled: Filled;
}
