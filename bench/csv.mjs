// Measures the cost of a CSV cell, with each writer in its own process. Also measures how much a worker stalls while a
// large report is written, and while `send_if` is decided. Uses the built code and real files. Limits: 1.5 million
// cells per second, no stall of the main thread above 50 ms, and 250 MB for a list of any length. The peer's figures
// are computed while it writes; Docket reads a section from memory, and a list from the file of a list export.
//
//   npm run build && node build/modules.mjs && node bench/csv.mjs [--quick] [--sections 20] [--rows 5000] [--list 200000] [--most 100000] [--decided 500000] [--long 1000000]

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { RENDER_THREAD } from '../dist-modules/compose/threads.js';
import { csvColumns, writeCsv } from '../dist-modules/render/formats/csv/section-csv.js';
import { renderPool } from '../dist-modules/render/render-pool.js';
import { evaluateConditions } from '../dist-modules/run/delivery-conditions.js';
import { readOptions } from './support/options.mjs';
import { reportOf, rounded } from './support/report.mjs';
import { datasetOf, LIST_COLUMNS, listTable, MADE_AT, SECTION_COLUMNS, sectionTable } from './support/report-data.mjs';
import { listsGrow, runWriter } from './support/run-writer.mjs';

const { sections, rows, list, most, decided, long } = readOptions(
  { sections: 20, rows: 5000, list: 200_000, most: 100_000, decided: 500_000, long: 1_000_000 },
  { sections: 4, rows: 5000, list: 20_000, most: 10_000, decided: 50_000, long: 50_000 },
);
const NS_A_CELL = Math.round(1e9 / 1.5e6);
const WRITERS = { docket: 'docket-csv', 'csv-stringify': 'csv-stringify' };
const report = reportOf('csv');
const never = new AbortController().signal;
const folder = await mkdtemp(join(tmpdir(), 'docket-bench-csv-'));

async function reportFile(name, work, cells, limit) {
  for (const [who, writer] of Object.entries(WRITERS)) {
    const { ms, cpu_ms, rss_mb } = await runWriter(writer, { ...work, folder });
    const figures = { ns_a_cell: Math.round((ms * 1e6) / cells), cpu_ns_a_cell: Math.round((cpu_ms * 1e6) / cells) };
    report({ name, who, ...figures, rss_mb, limit });
  }
}

/** Writes a file in this process; returns ns per cell. */
async function write(table, csv) {
  const path = join(folder, 'file.csv');
  const startedAt = performance.now();
  await writeCsv(path, table, csvColumns(table, csv), csv, never);
  const ms = performance.now() - startedAt;
  await rm(path);
  return Math.round((ms * 1e6) / (table.rows.length * table.columns.length));
}

/** The longest stall of the main thread during `work`, and how long the main thread was busy in total. */
async function stallDuring(work) {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const [startedAt, before] = [performance.now(), performance.eventLoopUtilization()];
  await work();
  delay.disable();
  return {
    main_thread_ms: rounded(performance.eventLoopUtilization(before).active, 0),
    longest_stall_ms: rounded(delay.max / 1e6, 1),
    stall_p99_ms: rounded(delay.percentile(99) / 1e6, 1),
    seconds: rounded((performance.now() - startedAt) / 1000, 2),
  };
}

const requestOf = async (tables, figures = false) => ({
  dataset: datasetOf(tables),
  figures,
  outputs: [{ format: 'csv' }],
  files: { folder: await mkdtemp(join(folder, 'files-')), digest: 'd'.repeat(64), bundled: ['csv'] },
  mail: { templates: undefined, attached: [] },
  run: 'r'.repeat(32),
  madeAt: MADE_AT,
});

const pool = renderPool({ entry: RENDER_THREAD });
try {
  await reportFile(`a list of ${list} rows`, { sections: 0, rows: list }, list * LIST_COLUMNS.length, {
    ns_a_cell: NS_A_CELL,
    rss_mb: 250,
  });
  for (const format of ['csv', 'jsonl', 'parquet']) {
    const { ms, cpu_ms, rss_mb, mb } = await runWriter(`docket-${format}`, { sections: 0, rows: long, folder });
    const figures = { seconds: rounded(ms / 1000, 1), cpu_seconds: rounded(cpu_ms / 1000, 1), rss_mb, mb };
    report({ name: `a list of ${long} rows as ${format}`, who: 'docket', ...figures, limit: { rss_mb: 250 } });
  }
  const cells = sections * rows * SECTION_COLUMNS.length;
  await reportFile(`${sections} sections × ${rows} rows`, { sections, rows }, cells, { ns_a_cell: NS_A_CELL });
  const tables = Array.from({ length: sections }, (_, section) => sectionTable(section, rows));
  await write(tables[0], {});
  report({
    name: `a section of ${rows} rows, formatted`,
    ns_a_cell: await write(tables[0], { values: 'formatted', locale: 'de-CH' }),
  });
  await listsGrow(report, 'CSV', { writers: WRITERS, most, folder });
  const request = await requestOf([...tables, await listTable(list, join(folder, 'list.jsonl'))]);
  report({
    name: 'all of these as files, zip and mail, made in a thread',
    ...(await stallDuring(() => pool.render(request, never))),
    limit: { longest_stall_ms: 50 },
  });
  const judged = await requestOf([await listTable(decided, join(folder, 'long-list.jsonl'))], true);
  const delivery = { email: { to: ['lead@acme.example'], attach: [] }, send_if: 'changed' };
  report({
    name: `send_if: changed of a list of ${decided} rows`,
    ...(await stallDuring(async () => {
      const { figures } = await pool.render({ ...judged, outputs: [] }, never);
      await evaluateConditions(
        judged.dataset,
        { org: 'acme', report: 'weekly', deliveries: [delivery] },
        undefined,
        undefined,
        undefined,
        figures,
      );
    })),
    // The total busy time, which no stall can exceed.
    limit: { main_thread_ms: 50 },
  });
} finally {
  await pool.close();
  await rm(folder, { recursive: true, force: true });
}
