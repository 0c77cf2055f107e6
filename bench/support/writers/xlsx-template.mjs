import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { LIST_COLUMNS } from '../report-data.mjs';
import { inspectFilled, writePlaceholderTemplate } from '../template-book.mjs';

/** bench/workbook-template.mjs installs it. */
const Template = createRequire(new URL('../peers/package.json', import.meta.url))('xlsx-template');

export const prepare = writePlaceholderTemplate;
export const inspect = inspectFilled;

/** Follows its documentation: a row of placeholders is repeated. */
export async function write(path, [{ plainRows }], template) {
  const book = new Template(readFileSync(template));
  const people = Array.from(plainRows, (values) =>
    Object.fromEntries(LIST_COLUMNS.map(({ name }, index) => [name, values[index] ?? ''])),
  );
  book.substitute('List', { people });
  writeFileSync(path, book.generate({ type: 'nodebuffer' }));
}
