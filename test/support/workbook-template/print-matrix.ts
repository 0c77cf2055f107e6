// Fills all templates of all tools at all sizes and prints what came out, by feature and tool: npm run test:workbooks
// With --write, into docs/internals/workbook-templates.md. With names, these templates alone.
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildTemplates } from './build-templates.ts';
import { SIZES, type SizeName } from './figures.ts';
import { libreofficeFacts } from './libreoffice-facts.ts';
import { checkTemplates, type TemplateCase } from './matrix.ts';
import { packageFacts } from './package-facts.ts';
import { recalculate } from './recalculate.ts';
import type { RecordedTemplate } from './recorded.ts';

const PAGE = fileURLToPath(new URL('../../../docs/internals/workbook-templates.md', import.meta.url));
const BATCH = 12;
const sizes = Object.keys(SIZES) as SizeName[];

const asked = process.argv.slice(2);
const names = asked.filter((word) => !word.startsWith('--'));
const folder = await mkdtemp(join(tmpdir(), 'docket-workbooks-'));
const failed = new Map<string, string[]>();
try {
  const built = await buildTemplates(folder, ['template', ...sizes], names);
  const chosen = built.filter(({ name }) => names.length === 0 || names.includes(name));
  for (const size of sizes) {
    for (let from = 0; from < chosen.length; from += BATCH) {
      const work = join(folder, `work-${size}-${from}`);
      await mkdir(join(work, 'built'), { recursive: true });
      const cases = await casesOf(chosen.slice(from, from + BATCH), size, join(work, 'built'));
      for (const [key, found] of await checkTemplates(cases, work)) {
        const [name = ''] = key.split(' ');
        failed.set(name, [...(failed.get(name) ?? []), key]);
        console.log(`✗ ${key}\n    ${found.join('\n    ')}`);
      }
      await rm(work, { recursive: true });
    }
    console.log(`${size} rows: ${chosen.length} templates`);
  }
  const table = tableOf(chosen);
  console.log(`\n${table}`);
  if (asked.includes('--write')) {
    const page = await readFile(PAGE, 'utf8');
    await writeFile(PAGE, page.replace(/(<!-- table -->\n).*(<!-- end -->)/s, `$1\n${table}\n\n$2`));
  }
  process.exitCode = failed.size > 0 ? 1 : 0;
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** What LibreOffice makes of the workbooks that the tools have built is computed here, too. */
async function casesOf(templates: readonly RecordedTemplate[], size: SizeName, work: string): Promise<TemplateCase[]> {
  const file = ({ name, ending }: RecordedTemplate, of: string) => join(folder, name, `${of}.${ending}`);
  const readable = templates.filter(({ libreoffice }) => libreoffice);
  const links = readable.map((one) => join(work, `${one.name}.${one.ending}`));
  for (const [index, link] of links.entries()) await symlink(file(readable[index] as RecordedTemplate, size), link);
  const computed = await recalculate(links, work);
  return Promise.all(
    templates.map(async (recorded) => {
      const opened = computed[readable.indexOf(recorded)] ?? null;
      return {
        recorded: recorded.tool === 'LibreOffice' ? withoutDrawings(recorded) : recorded,
        size,
        path: file(recorded, 'template'),
        facts: packageFacts(await readFile(file(recorded, size))),
        libreoffice: opened === null ? null : await libreofficeFacts(opened),
      };
    }),
  );
}

/** LibreOffice rounds the anchors that it saves, and loses count of heights behind some ten thousand rows. */
const withoutDrawings = (recorded: RecordedTemplate): RecordedTemplate => ({
  ...recorded,
  compared: recorded.compared ?? '^(?!xl/drawings/)',
});

function tableOf(templates: readonly RecordedTemplate[]): string {
  const tools = [...new Set(templates.map(({ tool }) => tool))].sort();
  const features = [...new Set(templates.flatMap(({ features: own }) => own))].sort();
  const cell = (feature: string, tool: string) => {
    const having = templates.filter((one) => one.tool === tool && one.features.includes(feature));
    const bad = having.flatMap(({ name }) => failed.get(name) ?? []);
    return having.length === 0 ? '' : bad.length === 0 ? '✓' : `✗ ${bad.join(', ')}`;
  };
  const lines = features.map((feature) => `| ${[feature, ...tools.map((tool) => cell(feature, tool))].join(' | ')} |`);
  const counts = tools.map((tool) => templates.filter((one) => one.tool === tool).length);
  return [
    `| | ${tools.join(' | ')} |`,
    `|---|${tools.map(() => '---|').join('')}`,
    `| templates | ${counts.join(' | ')} |`,
    ...lines,
  ].join('\n');
}
