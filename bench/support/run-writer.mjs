import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { reportGrowth, sizesTo } from './report.mjs';

const run = promisify(execFile);
const CHILD = fileURLToPath(new URL('./writer-child.mjs', import.meta.url));
const SOURCE = fileURLToPath(new URL('./writers/libxlsxwriter.c', import.meta.url));

/** Compiles a program that uses the C library, or says why that is not possible. */
export async function buildLibxlsxwriter(folder) {
  const name = 'libxlsxwriter';
  const path = join(folder, name);
  try {
    await run('gcc', ['-O2', '-o', path, SOURCE, '-lxlsxwriter']);
    return { name, path };
  } catch (error) {
    return { name, missing: String(error.stderr || error.message).split('\n')[0] };
  }
}

/**
 * Runs one writer on one workload, in its own process: ms, peak memory in MB, and its other figures. `sections` 0: a
 * list.
 */
export async function runWriter(writer, { sections, rows, folder, timeout = 0 }) {
  const own = await mkdtemp(join(folder, 'run-'));
  const [program, args] =
    typeof writer === 'string'
      ? [process.execPath, [CHILD, writer, own, sections, rows]]
      : [writer.path, [join(own, 'book.xlsx'), sections || 'list', rows]];
  try {
    const { stdout } = await run(program, args.map(String), {
      env: { ...process.env, NODE_ENV: 'production' },
      timeout,
    });
    return JSON.parse(stdout);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

/**
 * Lists with a growing number of rows, Docket's and a peer's. The cost per row must stay the same, and Docket's memory
 * must not grow with the rows.
 */
export async function listsGrow(report, what, { writers, most, folder }) {
  for (const [who, writer] of Object.entries(writers)) {
    const measured = [];
    for (const n of sizesTo(most)) measured.push({ n, ...(await runWriter(writer, { sections: 0, rows: n, folder })) });
    const grow = (name, unit, figure, limit) => {
      const points = measured.map((figures) => ({ n: figures.n, cost: figures[figure] }));
      reportGrowth(report, { name, who, by: 'rows', unit, points, ...limit });
    };
    grow(`${what} of a list`, 'ms of processor', 'cpu_ms');
    grow(`${what} of a list: memory`, 'MB', 'rss_mb', { most: 0.5 });
  }
}
