// Runs every bench of this folder, one after the other, each in a process of its own, and prints one table: our figure,
// the best peer's, their ratio, the limit and how far we are from it. The JSON lines themselves go where --json says.
//
//   npm run build && npm run bench -- [--quick] [--json bench.jsonl] [NAME…]
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { formatTable, rowsOf } from './support/table.mjs';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const SELF = 'run.mjs';

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, json: { type: 'string' } },
  allowPositionals: true,
});
const found = (await readdir(FOLDER)).filter((file) => file.endsWith('.mjs') && file !== SELF).sort();
const unknown = positionals.filter((name) => !found.includes(`${name}.mjs`));
if (unknown.length > 0) throw new Error(`no bench ${unknown.join(', ')}; there are ${found.join(', ')}`);
const files = positionals.length === 0 ? found : positionals.map((name) => `${name}.mjs`);

const json = values.json === undefined ? undefined : createWriteStream(values.json);

/** The lines a bench prints, and whether it kept its limits. Progress and faults of its own go to stderr as they come. */
async function run(file) {
  const child = spawn(process.execPath, [join(FOLDER, file), ...(values.quick ? ['--quick'] : [])], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const lines = [];
  for await (const line of createInterface({ input: child.stdout })) {
    json?.write(`${line}\n`);
    lines.push(JSON.parse(line));
  }
  return { lines, ok: (await ended) === 0 };
}

const rows = [];
const failed = [];
for (const file of files) {
  console.error(`${new Date().toISOString()} ${file}`);
  const { lines, ok } = await run(file);
  rows.push(...rowsOf(lines));
  if (!ok) failed.push(file);
}
json?.end();
console.log(formatTable(rows));
if (failed.length > 0) {
  console.log(`\nOver a limit, or broken: ${failed.join(', ')}`);
  process.exitCode = 1;
}
