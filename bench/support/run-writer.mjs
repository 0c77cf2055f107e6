import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { reportGrowth, sizesTo } from './report.mjs';

const run = promisify(execFile);
const CHILD = fileURLToPath(new URL('./writer-child.mjs', import.meta.url));
const SOURCE = fileURLToPath(new URL('./writers/libxlsxwriter.c', import.meta.url));

/** The C library as a program, or why it is missing. */
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
 * One writer at one workload, in a process of its own: ms, megabytes at the most, and what else it tells.
 * Sections 0: a list.
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

/** Lists of more and more rows, ours beside a peer's; what a row costs must stay, and our memory must not follow the rows. */
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
