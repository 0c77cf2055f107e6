import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Value } from '../../../src/fetch/dataset.ts';
import { type ListNames, listColumnCollector } from '../../../src/fetch/internal/tables/columns/list-columns.ts';
import { dataset, row, table } from '../../support/dataset.ts';
import { cellsOf, readCsv, readWorkbook } from '../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../support/render-folder.ts';
import { LIST_CATALOG } from '../list-catalog.ts';

const { render } = useRenderFolder();

const LABELS = { AP: 'Cleared', intake_form: 'Form', creation_source: 'Origin' };
/** `XX` is in no catalog, and `api` has no label. A name that equals a code is no code. */
const RECORDS: readonly { readonly id: number; readonly [field: string]: Value }[] = [
  { id: 7, name: 'AP', review_status: 'AP', creation_source: 'intake_form' },
  { id: 8, name: 'Ada', review_status: 'PR', creation_source: 'api' },
  { id: 9, name: 'Eve', review_status: 'XX', creation_source: null },
];

function profiles(records = RECORDS, names: ListNames = { catalog: LIST_CATALOG, labels: LABELS }) {
  const collector = listColumnCollector('profiles', names);
  const rows = records.map((record) => row(collector.addRecord(record)));
  return dataset([
    table({ id: 'profiles', title: 'Profiles', range: null, asOf: null, rows, columns: collector.columns() }),
  ]);
}

const RAW = [
  ['ID', 'Name', 'Review status', 'Origin'],
  ['7', 'AP', 'AP', 'intake_form'],
  ['8', 'Ada', 'PR', 'api'],
  ['9', 'Eve', 'XX', ''],
];
const SHOWN = [
  ['ID', 'Name', 'Review status', 'Origin'],
  ['7', 'AP', 'Cleared', 'Form'],
  ['8', 'Ada', 'Pending Review', 'api'],
  ['9', 'Eve', 'XX', '–'],
];

const schemaFile = z.object({
  fields: z.array(
    z.object({
      name: z.string(),
      type: z.string(),
      constraints: z.object({ enum: z.array(z.string()).optional() }).optional(),
    }),
  ),
  missingValues: z.array(z.string()),
});

/** The fields of a file that violate its schema. */
function refusedFields(schema: z.infer<typeof schemaFile>, [header = [], ...records]: string[][]): string[] {
  expect(schema.fields.map(({ name }) => name)).toEqual(header);
  return records.flatMap((record) =>
    record.filter((text, index) => {
      const { type, constraints } = schema.fields[index] ?? { type: 'none' };
      if (schema.missingValues.includes(text)) return false;
      if (type === 'integer' ? !/^-?\d+$/.test(text) : type !== 'string') return true;
      return constraints?.enum !== undefined && !constraints.enum.includes(text);
    }),
  );
}

describe('the codes of a list', () => {
  it.each([
    ['raw', 'unchanged', RAW],
    ['formatted', 'as their labels', SHOWN],
  ] as const)('are written to %s CSV files %s', async (values, _, expected) => {
    const files = await render(profiles(), [{ format: 'csv', csv: { values } }]);
    expect(readCsv(artifactNamed(files, ' profiles.csv').path)).toEqual(expected);
  });

  it('are shown in the workbook as their labels', async () => {
    const files = await render(profiles(), [{ format: 'xlsx' }]);
    const lines = cellsOf(readWorkbook(artifactNamed(files, '.xlsx').path), 'Profiles').map((line) =>
      line.map((cell) => String(cell?.v ?? '')),
    );
    const start = lines.findIndex(([first]) => first === 'ID');
    expect(lines.slice(start, start + SHOWN.length).map((line) => line.slice(0, 4))).toEqual(SHOWN);
  });

  it.each(['raw', 'formatted'] as const)('conform to the schema of their %s file', async (values) => {
    // Includes a code that no catalog lists, and one that only the report labels.
    const cases = [
      profiles(),
      profiles(RECORDS.filter(({ review_status: status }) => status === 'XX')),
      profiles(RECORDS, { catalog: LIST_CATALOG }),
      profiles(RECORDS, { catalog: { dimensions: [] }, labels: { XX: 'Unknown' } }),
    ];
    for (const one of cases) {
      const files = await render(one, [{ format: 'csv', csv: { values } }]);
      const schema = readFileSync(artifactNamed(files, ' profiles.schema.json').path, 'utf8');
      const parsed = schemaFile.parse(JSON.parse(schema));
      expect(refusedFields(parsed, readCsv(artifactNamed(files, ' profiles.csv').path))).toEqual([]);
    }
  });
});
