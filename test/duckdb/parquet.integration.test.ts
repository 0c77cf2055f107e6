import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { countColumn, dataset, nastyDataset, onboarding, row, table, workload } from '../support/dataset.ts';
import { artifactNamed, useRenderFolder } from '../support/render-folder.ts';

/** The part of @duckdb/node-api that these tests use. Its package has a lock file of its own, so it has no types here. */
interface DuckDB {
  readonly DuckDBInstance: { create(): Promise<{ connect(): Promise<Connection> }> };
}
interface Connection {
  runAndReadAll(sql: string): Promise<{ getRowObjectsJson(): Record<string, unknown>[] }>;
}

const { render } = useRenderFolder();
let connection: Connection;

// Fails without an npm registry, so that nobody overlooks that these formats were not tested.
beforeAll(async () => {
  const folder = import.meta.dirname;
  if (!existsSync(join(folder, 'node_modules/@duckdb/node-api')))
    await promisify(execFile)('npm', ['ci', '--prefix', folder, '--no-audit', '--no-fund']);
  const { DuckDBInstance } = createRequire(import.meta.url)('@duckdb/node-api') as DuckDB;
  connection = await (await DuckDBInstance.create()).connect();
});

/** Rows and types of a file. */
async function query(source: string) {
  const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${source}`);
  const types = Object.fromEntries(
    described.getRowObjectsJson().map((each) => [String(each.column_name), String(each.column_type)]),
  );
  const rows = (await connection.runAndReadAll(`SELECT * FROM ${source}`)).getRowObjectsJson();
  return { types, rows };
}

const EMPTY = table({ ...onboarding, id: 'empty', rows: [] });
const LARGE = table({
  id: 'large',
  columns: [countColumn],
  rows: [row({ [countColumn.name]: 2 ** 53 - 1 }), row({ [countColumn.name]: null })],
});
const TABLES = [onboarding, workload, EMPTY, LARGE, ...nastyDataset().tables];

test.each(TABLES.map((each, index) => [`${index} ${each.id}`, each] as const))(
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

test('columns have types with which readers can compute', async () => {
  const files = await render(dataset([onboarding]), [{ format: 'parquet' }]);
  const { types } = await query(`read_parquet('${artifactNamed(files, '.parquet').path}')`);
  expect(types).toMatchObject({ bucket: 'DATE', 'profiles.created': 'BIGINT', 'profiles.approval_rate': 'DOUBLE' });
});
