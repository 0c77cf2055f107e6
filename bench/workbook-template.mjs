// Fills a template that has a table, a chart over it, totals and a calculated column, with a list of 10 columns:
//
// - `fill`: compared with Docket's own writer, which makes a new workbook with the same rows;
// - `peers`: xlsx-template, and exceljs (loads, writes cells, saves), each with the largest list that it manages;
//   `chart_rows` and `table_rows`: the number of its rows that chart and table cover afterwards; 0: they are gone;
// - ten times as many rows, up to --most: cost per row, and memory.
//
//   node build/modules.mjs && node bench/workbook-template.mjs [--quick] [--list 200000] [--most 200000] [--times 3]
//
// Of several rounds the best time counts, and the worst memory. xlsx-template is installed into bench/support/peers/.
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOptions } from './support/options.mjs';
import { reportOf, rounded } from './support/report.mjs';
import { listsGrow, runWriter } from './support/run-writer.mjs';

const FULL = { list: 200_000, most: 200_000, times: 3 };
const options = readOptions(FULL, { list: 20_000, most: 10_000, times: 1 });
const RATIO = 1.5;
const RSS_MB = 300;
/** A peer that takes longer counts as unable to fill the list. */
const TIMEOUT_MS = 180_000;
const isFull = options.list >= FULL.list;

const report = reportOf('workbook-template');
const folder = await mkdtemp(join(tmpdir(), 'docket-bench-'));
const run = (writer, rows) => runWriter(writer, { sections: 0, rows, folder, timeout: TIMEOUT_MS });

/** In turns, so that a busy minute affects both. */
async function besideOurWriter() {
  const runs = { 'docket-template': [], docket: [] };
  for (let time = 0; time < options.times; time += 1) {
    for (const [writer, measured] of Object.entries(runs)) measured.push(await run(writer, options.list));
  }
  const best = (writer, figure) => Math.min(...runs[writer].map((each) => each[figure]));
  for (const [writer, measured] of Object.entries(runs)) {
    report({
      name: 'fill',
      who: writer === 'docket' ? 'docket, its own workbook' : 'docket',
      ...measured[0],
      ms: best(writer, 'ms'),
      cpu_ms: best(writer, 'cpu_ms'),
      rss_mb: Math.max(...measured.map((each) => each.rss_mb)),
      ...(writer === 'docket' ? {} : { to_writer: rounded(best(writer, 'cpu_ms') / best('docket', 'cpu_ms')) }),
      limit: writer === 'docket' ? {} : { ...(isFull ? { to_writer: RATIO } : {}), rss_mb: RSS_MB },
    });
  }
}

async function peer(writer) {
  let largest;
  for (let rows = options.list / 100; rows <= options.list; rows *= 10) {
    try {
      largest = { rows, ...(await run(writer, rows)) };
    } catch (error) {
      largest = {
        ...largest,
        fails_at: rows,
        because: String(error.stderr || error.signal || error.message)
          .trim()
          .split('\n')
          .at(-1),
      };
      break;
    }
  }
  report({ name: 'peers', who: writer, ...largest });
}

try {
  const peers = fileURLToPath(new URL('support/peers', import.meta.url));
  execFileSync('npm', ['ci', '--prefix', peers, '--ignore-scripts', '--no-audit', '--no-fund'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await besideOurWriter();
  for (const writer of ['xlsx-template', 'exceljs-template']) await peer(writer);
  await listsGrow(report, 'template', { writers: { docket: 'docket-template' }, most: options.most, folder });
} finally {
  await rm(folder, { recursive: true, force: true });
}
