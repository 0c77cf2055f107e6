// Parquet and JSON Lines of the same section as DuckDB reads them.
//
//   npm ci --prefix test/duckdb && npx vitest run --config test/duckdb/vitest.config.mjs
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { dataset, nastyDataset, onboarding, row, table, workload } from '../support/dataset.ts';
import { artifactNamed, useRenderFolder } from '../support/render-folder.ts';

const { render } = useRenderFolder();
const connection = await (await DuckDBInstance.create()).connect();

/** Rows and types of a file. */
async function query(source) {
  const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${source}`);
  const types = Object.fromEntries(described.getRowObjects().map((each) => [each.column_name, each.column_type]));
  const rows = (await connection.runAndReadAll(`SELECT * FROM ${source}`)).getRowObjectsJson();
  return { types, rows };
}

const EMPTY = table({ ...onboarding, id: 'empty', rows: [] });
const COUNT = onboarding.columns.find(({ unit }) => unit === 'count');
const LARGE = table({
  id: 'large',
  columns: [COUNT],
  rows: [row({ [COUNT.name]: 2 ** 53 - 1 }), row({ [COUNT.name]: null })],
});
const TABLES = [onboarding, workload, EMPTY, LARGE, ...nastyDataset().tables];

test.each(TABLES.map((each, index) => [`${index} ${each.id}`, each]))(
  '%s has the same values in both formats',
  async (_, from) => {
    const files = await render(dataset([from]), [{ format: 'jsonl' }, { format: 'parquet' }]);
    const parquet = await query(`read_parquet('${artifactNamed(files, '.parquet').path.replaceAll("'", "''")}')`);
    const columns = Object.entries(parquet.types).map(([name, type]) => `'${name.replaceAll("'", "''")}': '${type}'`);
    const { path } = artifactNamed(files, '.jsonl');
    const source = `read_json('${path.replaceAll("'", "''")}', format = 'newline_delimited', columns = {${columns.join(', ')}})`;
    const { rows } = await query(source);
    expect(parquet.rows).toEqual(rows);
    expect(parquet.rows).toHaveLength(from.rows.length);
  },
);

test('types are those that people compute with', async () => {
  const files = await render(dataset([onboarding]), [{ format: 'parquet' }]);
  const { types } = await query(`read_parquet('${artifactNamed(files, '.parquet').path}')`);
  expect(types).toMatchObject({ bucket: 'DATE', 'profiles.created': 'BIGINT', 'profiles.approval_rate': 'DOUBLE' });
});
