import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { LIST_COLUMNS } from '../report-data.mjs';
import { inspectFilled, writePlaceholderTemplate } from '../template-book.mjs';

export const prepare = writePlaceholderTemplate;
export const inspect = inspectFilled;

/** @param template beside it stands the folder that the bench has installed the package into */
export async function write(path, [{ plainRows }], template) {
  const { default: Template = createRequire(import.meta.url)(process.env.XLSX_TEMPLATE) } = {};
  const book = new Template(readFileSync(template));
  const people = Array.from(plainRows, (values) =>
    Object.fromEntries(LIST_COLUMNS.map(({ name }, index) => [name, values[index] ?? ''])),
  );
  book.substitute('List', { people });
  writeFileSync(path, book.generate({ type: 'nodebuffer' }));
}
