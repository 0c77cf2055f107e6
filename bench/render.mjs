// Compares workbooks with those of peers for the same figures, each writer in its own process, one at a time:
//
// - `pack`: sections of 22 columns, each with a chart; Docket's come from a dataset in memory;
// - `list`: one list of 10 columns; Docket reads it from the file of a list export;
// - `long list`: the same, long enough to show whether memory grows with the list;
// - lists of 10 rows, and of ten times as many, up to 100,000;
// - `thread`: the pack with its e-mail, rendered as the worker does it, while the main thread must stay responsive.
//
//   npm run build && node build/modules.mjs && node bench/render.mjs [--quick] [--sections 20] [--rows 5000] [--list 200000] [--long 1000000] [--most 100000] [--times 3]
//
// Of several rounds the best time counts, because other load on the machine can only make it worse; of memory and
// stalls the worst. If `ms` is in doubt, `cpu_ms` is the processor time of all threads. Only exceljs and SheetJS have
// no charts. libxlsxwriter is compiled here; without a compiler or the library (Debian: gcc, libxlsxwriter-dev), the
// output says so.
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions } from './support/options.mjs';
import { reportOf, rounded } from './support/report.mjs';
import { buildLibxlsxwriter, listsGrow, runWriter } from './support/run-writer.mjs';
import { watchStalls } from './support/stalls.mjs';

const FULL = { sections: 20, rows: 5_000, list: 200_000, long: 1_000_000, most: 100_000, times: 3 };
const options = readOptions(FULL, { sections: 4, rows: 1_000, list: 20_000, long: 50_000, most: 10_000, times: 1 });
const PEERS = ['exceljs-memory', 'exceljs-stream', 'sheetjs', 'wasm-xlsxwriter'];
const RSS_MB = 250;
const TIMES = ['ms', 'cpu_ms'];
/** With a small size, fixed costs weigh too much for the limits. */
const isFull = options.sections * options.rows >= FULL.sections * FULL.rows && options.list >= FULL.list;
const RATIOS = { pack: { to_exceljs: 0.2, to_wasm: 1, to_c: 1 }, list: { to_exceljs: 0.2, to_wasm: 1 } };

const report = reportOf('render');
const folder = await mkdtemp(join(tmpdir(), 'docket-bench-'));
const workload = {
  pack: { sections: options.sections, rows: options.rows },
  list: { sections: 0, rows: options.list },
  'long list': { sections: 0, rows: options.long },
};

/** The best time and the most memory of several runs. */
const bestOf = (runs) => ({
  ...runs[0],
  ...Object.fromEntries(
    Object.keys(runs[0]).map((figure) => {
      const values = runs.map((run) => run[figure]);
      return [figure, TIMES.includes(figure) ? Math.min(...values) : Math.max(...values)];
    }),
  ),
});

/** Runs every writer in turn, `times` times, so that a busy minute affects all of them. */
async function measure(name, writers) {
  const runs = new Map(writers.map((writer) => [writer, []]));
  for (let time = 0; time < options.times; time += 1) {
    for (const writer of writers) {
      runs.get(writer).push(await runWriter(writer, { ...workload[name], folder }));
      console.error(`${name} ${writer.name ?? writer} ${JSON.stringify(runs.get(writer).at(-1))}`);
    }
  }
  return new Map([...runs].map(([writer, measured]) => [writer, bestOf(measured)]));
}

async function beside(name, c) {
  const measured = await measure(name, [...PEERS, 'docket', ...(c.path === undefined ? [] : [c])]);
  const against = (figures, peer) => {
    const other = measured.get(peer);
    return other === undefined ? undefined : rounded(figures.ms / other.ms);
  };
  for (const [writer, figures] of measured) {
    const ratios = {
      to_exceljs: against(figures, 'exceljs-memory'),
      to_wasm: against(figures, 'wasm-xlsxwriter'),
      to_c: against(figures, c),
    };
    const limits = Object.entries(isFull ? RATIOS[name] : {}).filter(([ratio]) => ratios[ratio] !== undefined);
    report({
      name,
      who: writer.name ?? writer,
      ...figures,
      ...ratios,
      load: rounded(loadavg()[0], 1),
      limit: { ...Object.fromEntries(limits), rss_mb: RSS_MB },
    });
  }
  if (c.path === undefined) report({ name, who: c.name, absent: c.missing });
}

/**
 * `idle_stall_ms` is the longest stall of this process meanwhile, which only waits: it shows how busy the machine was.
 */
async function ours(name, writer, work, limit) {
  const longest = watchStalls();
  const figures = (await measure(work, [writer])).get(writer);
  report({ name, ...figures, idle_stall_ms: longest(), load: rounded(loadavg()[0], 1), limit });
}

try {
  const c = await buildLibxlsxwriter(folder);
  await beside('pack', c);
  await beside('list', c);
  await ours('long list', 'docket', 'long list', { rss_mb: RSS_MB });
  const writers = { docket: 'docket', 'exceljs-stream': 'exceljs-stream' };
  await listsGrow(report, 'workbook', { writers, most: options.most, folder });
  await ours('thread', 'docket-thread', 'pack', { stall_ms: 50 });
} finally {
  await rm(folder, { recursive: true, force: true });
}
