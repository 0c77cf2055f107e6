import { formatCounted, formatInteger } from '../../../admin/page/components/format-numbers.ts';
import { type Panels, Section, Table } from '../../../admin/page/components/layout.tsx';
import type { TemplateView } from '../../../definitions/schema/template-view.ts';
import type { FileEntry } from '../../../services/runs/run-file-reader.ts';
import { TableColumns, TableName } from './columns.tsx';

export const panels: Panels = {
  report: ({ workbook }) => (workbook === null ? null : <WorkbookTemplate view={workbook} />),
  files: (files) => <FilledWorkbooks files={files} />,
};

type Filled = NonNullable<FileEntry['workbook']>;

/** What the workbooks of a run were filled with. Empty if no workbook has a template. */
const FilledWorkbooks = ({ files }: { readonly files: readonly FileEntry[] }) => (
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

/** The template of a report's workbook: its problems, and what fills its tables and cells. */
const WorkbookTemplate = ({ view: { template, tables, names, problems } }: { readonly view: TemplateView }) => {
  const errors = problems.filter(({ severity }) => severity === 'error');
  const warnings = problems.filter(({ severity }) => severity === 'warning');
  return (
    <Section id="workbook" heading="Workbook template">
      {errors.length === 0 ? null : (
        <div class="error">
          <strong>{template} cannot be filled</strong>
          <Problems problems={errors} />
        </div>
      )}
      {errors.length > 0 || tables.length + names.length === 0 ? null : (
        <p>
          Each run fills {formatCounted(tables.length, 'table')} and {formatCounted(names.length, 'named cell')} of{' '}
          <strong>{template}</strong>. Everything else stays as it was designed.
        </p>
      )}
      {warnings.length === 0 ? null : (
        <div class="attention">
          <strong>{formatCounted(warnings.length, 'warning')}</strong>
          <Problems problems={warnings} />
        </div>
      )}
      {tables.length === 0 ? null : (
        <Table caption={`Tables of ${template}`} columns={['Table', 'Gets', 'Columns']}>
          {tables.map(({ section, columns, ...table }) => (
            <tr>
              <TableName table={table} />
              <td data-name="Gets" class="wrap">
                {section}
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
          <Table caption={`Named cells of ${template}`} columns={['Cell', 'Gets']}>
            {names.map(({ cell, name, bound }) => (
              <tr>
                <td class="wrap">{cell}</td>
                <td data-name="Gets" class="wrap">
                  <code title={name}>{bound}</code>
                </td>
              </tr>
            ))}
          </Table>
        </details>
      )}
    </Section>
  );
};

const Problems = ({ problems }: { readonly problems: TemplateView['problems'] }) => (
  <ul>
    {problems.map(({ at, message, expected, got, next }) => (
      <li class="wrap">
        {at === null ? null : (
          <>
            <strong>{at}</strong>{' '}
          </>
        )}
        {message === null ? `Expected ${expected}, got ${got}.` : message} {next}
      </li>
    ))}
  </ul>
);
