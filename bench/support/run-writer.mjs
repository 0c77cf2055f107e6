import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CHILD = fileURLToPath(new URL('./writer-child.mjs', import.meta.url));
const SOURCE = fileURLToPath(new URL('./writers/libxlsxwriter.c', import.meta.url));

/** The C library as a program, or why there is none. */
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
export async function runWriter(writer, { sections, rows, folder }) {
  const own = await mkdtemp(join(folder, 'run-'));
  const [program, args] =
    typeof writer === 'string'
      ? [process.execPath, [CHILD, writer, own, sections, rows]]
      : [writer.path, [join(own, 'book.xlsx'), sections || 'list', rows]];
  try {
    const { stdout } = await run(program, args.map(String), { env: { ...process.env, NODE_ENV: 'production' } });
    return JSON.parse(stdout);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}
