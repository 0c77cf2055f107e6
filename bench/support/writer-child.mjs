// Runs one writer on one workload: `node writer-child.mjs <writer> <folder> <sections> <rows>`; sections 0 means a
// list.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { listSheets, sectionSheets } from './peer-sheets.mjs';
import { datasetOf, listTable, sectionTable } from './report-data.mjs';

const [writer, folder, sections, rows] = process.argv.slice(2);

const packOf = (count, length) =>
  datasetOf(Array.from({ length: count }, (_, section) => sectionTable(section, length)));

const inputOf = async (count, length) => {
  if (!writer.startsWith('docket')) return count > 0 ? sectionSheets(count, length) : listSheets(length);
  return count > 0 ? packOf(count, length) : datasetOf([await listTable(length, join(folder, 'rows.jsonl'))]);
};

const { write, prepare, inspect } = await import(`./writers/${writer}.mjs`);
const template = join(folder, 'template.xlsx');
await prepare?.(template);
const input = await inputOf(Number(sections), Number(rows));
const path = join(folder, 'book.xlsx');
const from = performance.now();
const before = process.cpuUsage();
const figures = await write(path, input, template);
const ms = performance.now() - from;
const { user, system } = process.cpuUsage(before);
console.log(
  JSON.stringify({
    ms: Math.round(ms),
    cpu_ms: Math.round((user + system) / 1000),
    rss_mb: Math.round(process.resourceUsage().maxRSS / 1024),
    mb: Number((statSync(path).size / 1e6).toFixed(1)),
    ...figures,
    ...inspect?.(path),
  }),
);
