import { readFileSync } from 'node:fs';
import { tableFromIPC } from 'apache-arrow';
import fc from 'fast-check';
import { readParquet } from 'parquet-wasm';
import { describe, expect, it } from 'vitest';
import { chosenFiles } from '../../../../src/deliver/targets/file-target.ts';
import type { Table, Value } from '../../../../src/fetch/dataset.ts';
import { dataColumns } from '../../../../src/render/formats/data-columns.ts';
import { dataset, nastyDataset, onboarding, row, table, workload } from '../../../support/dataset.ts';
import { cases } from '../../../support/fuzz.ts';
import { artifactNamed, useRenderFolder } from '../../../support/render-folder.ts';

const { render } = useRenderFolder();

/** Parquet as another implementation reads it (Rust, over Arrow). */
function parquetRows(path: string) {
  const arrow = tableFromIPC(readParquet(readFileSync(path)).intoIPCStream());
  const types = Object.fromEntries(arrow.schema.fields.map(({ name, type }) => [name, `${type}`]));
  const rows = arrow.toArray().map((each) => ({ ...each.toJSON() }) as Record<string, unknown>);
  return { types, rows, metadata: JSON.parse(arrow.schema.metadata.get('docket') ?? '{}') };
}

const jsonLines = (path: string): Record<string, Value>[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

/** The value that Parquet stores for a value of the dataset. */
function inParquet(value: Value, type: string): unknown {
  if (value === null) return null;
  if (type === 'integer') return BigInt(value);
  if (type === 'date') return Date.parse(`${value}T00:00:00Z`);
  return type === 'any' ? String(value) : value;
}

async function expectSameRows(from: Table): Promise<void> {
  const data = dataset([from]);
  const columns = dataColumns(data, from);
  const artifacts = await render(data, [{ format: 'jsonl' }, { format: 'parquet' }]);
  const lines = jsonLines(artifactNamed(artifacts, `${from.id}.jsonl`).path);
  const { rows, types } = parquetRows(artifactNamed(artifacts, `${from.id}.parquet`).path);
  const expected = [...('path' in from.rows ? [] : from.rows)];
  expect(Object.keys(types)).toEqual(columns.map(({ name }) => name));
  expect(lines).toEqual(
    expected.map((each) => Object.fromEntries(columns.map(({ name, read }) => [name, read(each)]))),
  );
  expect(rows).toEqual(
    expected.map((each) =>
      Object.fromEntries(columns.map(({ name, type, read }) => [name, inParquet(read(each), type)])),
    ),
  );
}

const list = (records: readonly (readonly Value[])[], width: number): Table =>
  table({
    id: 'list',
    columns: Array.from({ length: width }, (_, at) => ({
      name: `field_${at}`,
      label: `Field ${at}`,
      kind: 'field' as const,
      type: 'string',
      unit: null,
    })),
    rows: records.map((record) => row(Object.fromEntries(record.map((value, at) => [`field_${at}`, value])))),
  });

const value: fc.Arbitrary<Value> = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.constantFrom('2026-11-09', '2026-02-30', ''),
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.constantFrom(2 ** 53, Number.MAX_SAFE_INTEGER, -0.5, 1e21),
);

describe('JSON Lines and Parquet', () => {
  it.each([onboarding, workload, ...nastyDataset().tables.filter(({ layout }) => layout?.kind !== 'text')])(
    'contain every value of a section under the names of the API ($id)',
    (from) => expectSameRows(from),
  );

  it('contain every value of a list, whatever types its fields mix', async () => {
    const lists = fc
      .integer({ min: 1, max: 3 })
      .chain((width) =>
        fc.array(fc.array(value, { minLength: width, maxLength: width })).map((rows) => list(rows, width)),
      );
    await fc.assert(fc.asyncProperty(lists, expectSameRows), cases(40));
  });

  it('keep the types of columns that have no rows or only nulls', async () => {
    const kinds = async (from: Table) =>
      parquetRows(artifactNamed(await render(dataset([from]), [{ format: 'parquet' }]), `${from.id}.parquet`).path)
        .types;
    const types = await kinds(onboarding);
    expect(types).toMatchObject({ bucket: 'Date32<DAY>', 'profiles.created': 'Int64', running: 'Bool' });
    expect(await kinds({ ...onboarding, rows: [] })).toEqual(types);
    const nulls = onboarding.columns.map(({ name }) => [name, null]);
    expect(await kinds({ ...onboarding, rows: [row(Object.fromEntries(nulls))] })).toEqual(types);
  });

  it('describe their units and origin in the schema file and in the Parquet metadata', async () => {
    const artifacts = await render(dataset([onboarding]), [{ format: 'jsonl' }, { format: 'parquet' }]);
    const { $schema, ...schema } = JSON.parse(
      readFileSync(artifactNamed(artifacts, 'onboarding.jsonl.schema.json').path, 'utf8'),
    );
    const { metadata } = parquetRows(artifactNamed(artifacts, 'onboarding.parquet').path);
    expect(metadata).toEqual(schema);
    expect(schema.docket).toMatchObject({ section: 'onboarding', registry_version: expect.any(Number) });
    expect(schema.fields).toContainEqual(expect.objectContaining({ name: 'profiles.created', unit: 'count' }));
  });

  it('have the totals in separate files, which a delivery can choose', async () => {
    const artifacts = await render(dataset([onboarding]), [
      { format: 'jsonl', compress: 'gzip' },
      { format: 'parquet' },
    ]);
    expect(chosenFiles(artifacts, { files: ['totals'] }).map(({ name }) => name.replace(/^.* /, ''))).toEqual([
      'onboarding.totals.jsonl.gz',
      'onboarding.totals.parquet',
    ]);
    const [totals] = parquetRows(artifactNamed(artifacts, '.totals.parquet').path).rows;
    expect(totals?.['profiles.created']).toBe(BigInt(onboarding.totals?.values['profiles.created'] ?? -1));
  });

  it('have the same bytes when they are rendered again', async () => {
    const hashes = async () =>
      (await render(dataset([onboarding, workload]), [{ format: 'jsonl' }, { format: 'parquet' }])).map(
        ({ sha256 }) => sha256,
      );
    expect(await hashes()).toEqual(await hashes());
  });
});
