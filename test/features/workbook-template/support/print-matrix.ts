// Fills all templates of all tools at all sizes and prints the results: npx tsx
// test/features/workbook-template/support/print-matrix.ts [--write] [--sizes=0,10] [names]
// Names and sizes limit the run. --write stores the results beside the earlier ones and updates the tables of
// docs/internals/workbook-templates.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildTemplates } from './build-templates.ts';
import { SIZES, type SizeName } from './figures.ts';
import { checkTemplates, type TemplateCase } from './matrix.ts';
import { describeResults, type MatrixResults, readResults, withoutGone, writeResults } from './matrix-results.ts';
import { packageFacts } from './package-facts.ts';
import type { RecordedTemplate } from './recorded.ts';

const PAGE = fileURLToPath(new URL('../../../../docs/internals/workbook-templates.md', import.meta.url));
/** Templates per start of LibreOffice. */
const BATCH = 16;
/** Batches at the same time: while LibreOffice computes one, another one is filled and compared. */
const LANES = 2;

const words = process.argv.slice(2);
const write = words.includes('--write');
const names = words.filter((word) => !word.startsWith('--'));
const sizes = sizesOf(words.find((word) => word.startsWith('--sizes='))?.slice('--sizes='.length));
const started = Date.now();
const folder = await mkdtemp(join(tmpdir(), 'docket-workbooks-'));
try {
  const built = await buildTemplates(folder, ['template', ...sizes], names);
  const chosen = built.filter(({ name }) => names.length === 0 || names.includes(name));
  tell(`${chosen.length} templates built`);
  const former = write ? readResults() : {};
  const results = names.length === 0 ? withoutGone(former, built) : former;
  const batches = sizes.flatMap((size) =>
    Array.from({ length: Math.ceil(chosen.length / BATCH) }, (_, index) => ({
      size,
      templates: chosen.slice(index * BATCH, (index + 1) * BATCH),
      work: join(folder, `work-${size}-${index}`),
    })),
  );
  const lane = async () => {
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
      const failed = await runBatch(batch, results);
      tell(`${batch.size} rows: ${batch.templates.length} templates, ${failed} failed`);
      if (write) keep(results);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  console.log(`\n${describeResults(results)}`);
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Returns the number of failures. */
async function runBatch(
  { size, templates, work }: { size: SizeName; templates: readonly RecordedTemplate[]; work: string },
  results: MatrixResults,
): Promise<number> {
  await mkdir(join(work, 'built'), { recursive: true });
  const cases = await Promise.all(templates.map((recorded) => caseOf(recorded, size, join(work, 'built'))));
  const problems = await checkTemplates(cases, work);
  await rm(work, { recursive: true });
  const on = new Date().toISOString().slice(0, 10);
  for (const { name, tool, features } of templates) {
    const found = problems.get(`${name} ${size}`) ?? [];
    results[name] = { tool, features, sizes: { ...results[name]?.sizes, [size]: { on, problems: found } } };
    if (found.length > 0) console.log(`✗ ${name} ${size}\n    ${found.join('\n    ')}`);
  }
  if (problems.size > 0) process.exitCode = 1;
  return problems.size;
}

async function caseOf(recorded: RecordedTemplate, size: SizeName, work: string): Promise<TemplateCase> {
  const { name, ending, tool, libreoffice } = recorded;
  const built = join(folder, name, `${size}.${ending}`);
  // LibreOffice writes all results into one folder, so the names must differ.
  const link = join(work, `${name}.built.${ending}`);
  await symlink(built, link);
  return {
    recorded: tool === 'LibreOffice' ? withoutDrawings(recorded) : recorded,
    size,
    path: join(folder, name, `template.${ending}`),
    facts: packageFacts(await readFile(built)),
    libreoffice: libreoffice ? { built: link } : null,
  };
}

/** Skips drawings of LibreOffice, which rounds the anchors that it saves and miscounts heights after some ten thousand rows. */
function withoutDrawings(recorded: RecordedTemplate): RecordedTemplate {
  return { ...recorded, compared: recorded.compared ?? '^(?!xl/drawings/)' };
}

/** Synchronous, because the lanes write the same files. */
function keep(results: MatrixResults): void {
  writeResults(results);
  const page = readFileSync(PAGE, 'utf8');
  const text = describeResults(results);
  writeFileSync(
    PAGE,
    page.replace(/(<!-- table -->\n).*(<!-- end -->)/s, (_, begin, end) => `${begin}\n${text}\n\n${end}`),
  );
}

function sizesOf(list: string | undefined): SizeName[] {
  const all = Object.keys(SIZES) as SizeName[];
  if (list === undefined) return all;
  const requested = list.split(',');
  const unknown = requested.filter((size) => !all.some((one) => one === size));
  if (unknown.length > 0) throw new Error(`No such size: ${unknown.join(', ')}; there are ${all.join(', ')}`);
  return all.filter((size) => requested.includes(size));
}

function tell(what: string): void {
  console.log(`${Math.round((Date.now() - started) / 1000)} s: ${what}`);
}
