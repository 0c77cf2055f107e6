// Rebuilds the templates of test/recorded/workbooks with their expected results: npx tsx
// test/features/workbook-template/support/record.ts
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { buildTemplates } from './build-templates.ts';
import type { SizeName } from './figures.ts';
import { libreofficeFacts } from './libreoffice-facts.ts';
import { packageFacts } from './package-facts.ts';
import { recalculate } from './recalculate.ts';
import { type ExpectedFacts, RECORDED, type RecordedTemplate } from './recorded.ts';

/** Templates kept from those that LibreOffice saves. The others differ little from these. */
const SAVED_AGAIN = new Set(
  [
    ...['line-chart', 'combo-chart', 'scatter-chart', 'formulas-across', 'formulas-below', 'side-by-side', 'stacked'],
    ...[
      'conditional-formats',
      'validations',
      'buttons-comments',
      'print-set-up',
      'pivot-tables',
      'names',
      'everything',
    ],
  ].map((name) => `${name}-lo`),
);
const SIZES: readonly SizeName[] = ['0', '10', '7-2'];
/** The sizes that LibreOffice computes. */
const COMPUTED: readonly SizeName[] = ['10', '7-2'];

const folder = mkdtempSync(join(tmpdir(), 'docket-workbooks-'));
try {
  const built = await buildTemplates(folder, ['template', ...SIZES]);
  const kept = built.filter(({ name }) => !name.endsWith('-lo') || SAVED_AGAIN.has(name));
  rmSync(join(RECORDED, 'templates'), { recursive: true, force: true });
  mkdirSync(join(RECORDED, 'templates'));
  const file = ({ name, ending }: RecordedTemplate, size: string) => join(folder, name, `${size}.${ending}`);
  const expected: Record<string, ExpectedFacts> = {};
  for (const one of kept) {
    copyFileSync(file(one, 'template'), join(RECORDED, 'templates', `${one.name}.${one.ending}`));
    const facts = SIZES.map((size) => [size, packageFacts(readFileSync(file(one, size)))] as const);
    expected[one.name] = { package: Object.fromEntries(facts) };
  }
  for (const size of COMPUTED) {
    const work = join(folder, `computed-${size}`);
    mkdirSync(work);
    const readable = kept.filter(({ libreoffice }) => libreoffice);
    for (const one of readable) symlinkSync(file(one, size), join(work, `${one.name}.${one.ending}`));
    const saved = await recalculate(
      readable.map(({ name, ending }) => join(work, `${name}.${ending}`)),
      work,
    );
    for (const [index, { name }] of readable.entries()) {
      const before = expected[name];
      if (before === undefined) continue;
      const opened = saved[index] ?? null;
      if (opened === null) throw new Error(`LibreOffice cannot open ${name}`);
      const facts = await libreofficeFacts(opened);
      expected[name] = { ...before, libreoffice: { ...before.libreoffice, [size]: facts } };
    }
  }
  writeFileSync(join(RECORDED, 'index.json'), `${JSON.stringify(kept, null, 2)}\n`);
  writeFileSync(join(RECORDED, 'expected.json.gz'), gzipSync(JSON.stringify(expected), { level: 9 }));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
