// Measures the cost of a PDF: a pack of the demo's size (a scorecard, eight sections with charts, definitions), and one
// with the maximum number of rows. Typst runs in its own process, whose processor time and memory are counted from its
// start. Limits: 1.5 s and 150 MB for the pack.
//
//   npm run build && node build/modules.mjs && node bench/pdf.mjs [--quick] [--sections 8] [--rows 13] [--most 2000]
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { writePdf } from '../dist-modules/render/formats/pdf/write-pdf.js';
import { readOptions } from './support/options.mjs';
import { reportOf, rounded } from './support/report.mjs';
import { datasetOf, MADE_AT, sectionTable } from './support/report-data.mjs';

const { sections, rows, most } = readOptions(
  { sections: 8, rows: 13, most: 2000 },
  { sections: 8, rows: 13, most: 200 },
);
const report = reportOf('pdf');
const folder = await mkdtemp(join(tmpdir(), 'docket-bench-pdf-'));
const signal = new AbortController().signal;

/** A section with days, a type, and as many metrics as a page shows side by side. */
const themed = (section, count) => {
  const { columns, ...table } = sectionTable(section, count);
  return { ...table, columns: columns.filter(({ kind }, index) => kind === 'time' || (index > 2 && index < 8)) };
};

/** A section with one figure per metric and no buckets, like the summary's scorecard. */
const scorecard = () => {
  const { columns, rows: all, chart: _, ...table } = sectionTable(0, 1);
  const metrics = columns.filter(({ kind }) => kind === 'metric').slice(0, 8);
  return { ...table, id: 'scorecard', title: 'Scorecard', granularity: null, columns: metrics, rows: all };
};

async function measure(name, tables, limit) {
  const path = join(folder, 'pack.pdf');
  const startedAt = performance.now();
  const { cpuMs, rssMb } = await writePdf(path, datasetOf(tables), {
    run: 'r'.repeat(32),
    digest: 'd'.repeat(64),
    madeAt: MADE_AT,
    signal,
  });
  const ms = performance.now() - startedAt;
  await rm(path);
  report({ name, ms: Math.round(ms), cpu_ms: Math.round(cpuMs), rss_mb: rounded(rssMb, 0), limit });
}

try {
  const pack = [scorecard(), ...Array.from({ length: sections }, (_, index) => themed(index + 1, rows))];
  await measure(`a pack of ${sections + 1} sections`, pack, { cpu_ms: 1500, rss_mb: 150 });
  await measure(`a table of ${most} rows`, [themed(1, most)], { ms: 20_000, rss_mb: 768 });
} finally {
  await rm(folder, { recursive: true });
}
