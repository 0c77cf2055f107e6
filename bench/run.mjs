// Runs every benchmark of this folder, one after the other, each in its own process. Prints their JSON lines as they
// come (with --json, appends them to that file), then a table with Docket's figure, the best peer's, their ratio, the
// limit and the distance to it; then how cost grows.
//
//   npm run build && npm run bench -- [--quick] [--json bench.jsonl] [--page docs/internals/benchmarks.md] [NAME…]
//
// --page writes the tables between the marks of a page. With --from bench.jsonl nothing is measured: tables and page
// come from that file, and of each benchmark the last run counts.
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { watchMachine } from './support/machine.mjs';
import { fillPage } from './support/page.mjs';
import { OVER } from './support/report.mjs';
import { lastRuns } from './support/result-lines.mjs';
import { comparison, formatTable, growthTables } from './support/table.mjs';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const SELF = 'run.mjs';
/** A benchmark that takes longer hangs. The longest, backlog, takes a quarter of this. */
const TIMEOUT_MS = 40 * 60_000;

const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    from: { type: 'string' },
    page: { type: 'string' },
  },
  allowPositionals: true,
});
const found = (await readdir(FOLDER)).filter((file) => file.endsWith('.mjs') && file !== SELF).sort();
const unknown = positionals.filter((name) => !found.includes(`${name}.mjs`));
if (unknown.length > 0) throw new Error(`no bench ${unknown.join(', ')}; there are ${found.join(', ')}`);
const names = (positionals.length === 0 ? found : found.filter((file) => positionals.includes(file.slice(0, -4)))).map(
  (file) => file.slice(0, -4),
);

const write = (text) => (values.json === undefined ? console.log(text) : appendFileSync(values.json, `${text}\n`));

/** The output and exit of a benchmark. Its progress and its own errors go straight to stderr. */
async function run(name) {
  const machine = await watchMachine();
  const child = spawn(process.execPath, [join(FOLDER, `${name}.mjs`), ...(values.quick ? ['--quick'] : [])], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: TIMEOUT_MS,
  });
  const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)));
  const texts = [];
  for await (const text of createInterface({ input: child.stdout })) texts.push(text);
  const end = await ended;
  const about = { bench: name, case: 'the run', who: 'machine', quick: values.quick, end, ...(await machine()) };
  for (const text of [...texts, JSON.stringify(about)]) write(text);
  return [...texts.map((text) => JSON.parse(text)), about];
}

async function measured() {
  const lines = [];
  for (const name of names) {
    console.error(`${new Date().toISOString()} ${name}`);
    lines.push(...(await run(name)));
  }
  return lines;
}

const read = async (file) =>
  lastRuns((await readFile(file, 'utf8')).split('\n').flatMap((text) => (text === '' ? [] : [JSON.parse(text)])));

const lines = values.from === undefined ? await measured() : await read(values.from);
for (const table of [comparison(lines), ...growthTables(lines)]) console.log(`\n${formatTable(table)}`);
if (values.page !== undefined) await writeFile(values.page, fillPage(await readFile(values.page, 'utf8'), lines));

const runs = lines.filter(({ who }) => who === 'machine');
const seconds = runs.reduce((sum, run) => sum + run.seconds, 0);
console.log(`\n${runs.length} benches took ${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s.`);
for (const [what, of] of Object.entries({
  'Over a limit': runs.filter(({ end }) => end === OVER),
  Broken: runs.filter(({ end }) => end !== OVER && end !== 0),
})) {
  if (of.length === 0) continue;
  console.log(`${what}: ${of.map(({ bench }) => bench).join(', ')}`);
  process.exitCode = 1;
}
