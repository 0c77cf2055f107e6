// What a cell of CSV costs, and what a worker notices while a large report is made beside it: on the built code, with
// real files. Limits: 1.5 million cells a second, no stall of the main thread over 50 ms, 250 MB for a list of any length.
//
//   npm run build && node bench/csv.mjs [--quick] [--sections 20] [--rows 5000] [--list 200000]
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { writeRows } from '../dist/fetch/rows.js';
import { csvColumns, writeCsv } from '../dist/render/csv.js';
import { renderPool } from '../dist/render/pool.js';
import { readOptions } from './support/options.mjs';
import { reportOf, rounded } from './support/report.mjs';

const { sections, rows, list } = readOptions(
  { sections: 20, rows: 5000, list: 200_000 },
  { sections: 4, rows: 5000, list: 20_000 },
);
const NS_A_CELL = 1e9 / 1.5e6;
const report = reportOf('csv');
const never = new AbortController().signal;
const folder = await mkdtemp(join(tmpdir(), 'docket-bench-csv-'));

const FIELDS = ['id', 'name', 'created_at', 'risk', 'status', 'country', 'score', 'active', 'updated_at', 'reference'];
async function listTable(length) {
  const writer = await writeRows(join(folder, `list-${length}.rows`));
  for (let at = 0; at < length; at += 1000) {
    await writer.append(
      Array.from({ length: 1000 }, (_, index) => ({
        id: 1_000_000 + at + index,
        name: index % 9 === 0 ? `Söhne, "Ada" & ${index}` : `Ada Lovelace ${index}`,
        created_at: '2026-03-01T10:20:30Z',
        risk: 'high',
        status: 'in review',
        country: 'CH',
        score: index / 7,
        active: index % 2 === 0,
        updated_at: '2026-03-02T10:20:30Z',
        reference: index % 5 === 0 ? null : `R-${index}`,
      })),
    );
  }
  const columns = FIELDS.map((name) => ({ name, label: name, kind: 'field', type: 'string', unit: null }));
  return tableOf('list', columns, await writer.end(FIELDS), null);
}

const tableOf = (id, columns, tableRows, granularity) => ({
  id,
  title: id,
  granularity,
  current: false,
  range: null,
  compared: false,
  compareRange: null,
  asOf: null,
  columns,
  rows: tableRows,
  filters: [],
  notes: [],
});

const UNITS = ['count', 'ratio', 'seconds'];
const METRICS = Array.from({ length: 20 }, (_, index) => ({
  name: `metric.${index}`,
  label: `Metric ${index}`,
  kind: 'metric',
  type: index % 3 === 0 ? 'integer' : 'number',
  unit: UNITS[index % 3],
}));
const COLUMNS = [
  { name: 'bucket', label: 'Bucket', kind: 'time', type: 'date', unit: null },
  { name: 'profile.group', label: 'Group', kind: 'dimension', type: 'enum', unit: null, values: [] },
  ...METRICS,
];
const figureOf = (row, index) => [row * (index + 1), (row % 997) / 997, row * 61.5][index % 3];
const sectionTable = (section) =>
  tableOf(
    `section_${section}`,
    COLUMNS,
    Array.from({ length: rows }, (_, row) => ({
      values: {
        bucket: '2026-11-09',
        'profile.group': `Group ${row}`,
        ...Object.fromEntries(METRICS.map(({ name }, index) => [name, figureOf(row, index)])),
      },
      partial: false,
    })),
    'day',
  );

async function write(table, csv) {
  const path = join(folder, 'file.csv');
  const startedAt = performance.now();
  await writeCsv(path, table, csvColumns(table, csv), csv, never);
  const ms = performance.now() - startedAt;
  await rm(path);
  return (ms * 1e6) / (table.rows.length * table.columns.length);
}

/** The longest time for which the main thread did not turn while `work` went on. */
async function stallDuring(work) {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const startedAt = performance.now();
  await work();
  delay.disable();
  return {
    longest_stall_ms: rounded(delay.max / 1e6, 1),
    stall_p99_ms: rounded(delay.percentile(99) / 1e6, 1),
    seconds: rounded((performance.now() - startedAt) / 1000, 2),
  };
}

const requestOf = async (tables) => ({
  dataset: {
    org: 'acme',
    organization: 'Acme Compliance AG',
    report: 'large',
    title: 'Large',
    owner: 'ops@acme.example',
    period: { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' },
    tables,
    calls: [],
    registryVersion: 1,
  },
  outputs: [{ format: 'csv' }],
  files: { folder: await mkdtemp(join(folder, 'files-')), digest: 'd'.repeat(64), zipped: true },
  mail: { templates: undefined, attached: [] },
  run: 'r'.repeat(32),
  madeAt: Date.parse('2026-11-16T07:00:00Z'),
});

const pool = renderPool();
try {
  const long = await listTable(list);
  report({
    name: `a list of ${list} rows in a file, raw`,
    ns_a_cell: Math.round(await write(long, {})),
    rss_mb: Math.round(process.memoryUsage().rss / 1_048_576),
    limit: { ns_a_cell: Math.round(NS_A_CELL), rss_mb: 250 },
  });
  const tables = Array.from({ length: sections }, (_, section) => sectionTable(section));
  const [first] = tables;
  await write(first, {});
  const raw = [];
  for (const table of tables) raw.push(await write(table, {}));
  report({
    name: `${sections} sections × ${rows} rows × ${COLUMNS.length}, raw`,
    ns_a_cell: Math.round(raw.reduce((sum, one) => sum + one, 0) / raw.length),
    limit: { ns_a_cell: Math.round(NS_A_CELL) },
  });
  report({
    name: `a section of ${rows} rows × ${COLUMNS.length}, formatted`,
    ns_a_cell: Math.round(await write(first, { values: 'formatted', locale: 'de-CH' })),
  });
  const request = await requestOf([...tables, long]);
  report({
    name: 'all of these as files, zip and mail, made in a thread',
    ...(await stallDuring(() => pool.render(request, never))),
    limit: { longest_stall_ms: 50 },
  });
} finally {
  await pool.close();
  await rm(folder, { recursive: true, force: true });
}
