import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { jobsFolder, ORG, REPORT } from '../../../support/jobs-folder.ts';
import { runCommand } from '../../../support/run-command.ts';

const HTML = 'email/report.mjml';
const TEXT = 'email/report.txt.liquid';
const PACK = 'pack/pack.typ';
const PRINTED = REPORT.replace('  - { format: csv }', '  - { format: pdf }').replace(
  '    list: profiles',
  '    print: false\n    list: profiles',
);
const APPROVED = `${PRINTED}approval: { by: [mlro] }\n`;
const COMMENTED = REPORT.replace('    chart: line', '    commentary: optional');
const CORRECTED = `${REPORT}corrections: { watch: 35d, materiality: 1% }\n`;

const builtIn = (name: string): Promise<string> => readFile(`templates/${name}`, 'utf8');
/** Templates from before comments, approvals and corrections existed. */
const OLDER: Readonly<Record<string, string>> = {
  [HTML]:
    '<mjml><mj-body><mj-section><mj-column><mj-text>No comments, approval: {{ title }}</mj-text></mj-column></mj-section></mj-body></mjml>',
  [TEXT]: 'No comments, approval, correction: {{ title }}\n',
  [PACK]: `#let pack = json("pack.json")
// comments, approval, correction
#set document(title: pack.title)
#set text(font: "Arimo", fallback: false)
#pack.title
`,
};

test.each<[string, string, readonly string[], readonly [string, string][]]>([
  ['an approval', APPROVED, [HTML, TEXT, PACK], [HTML, TEXT, PACK].map((file) => [file, 'comments, approval'])],
  ['comments', COMMENTED, [TEXT, PACK], [[TEXT, 'comments']]],
  ['corrections', CORRECTED, [HTML], [[HTML, 'correction']]],
  ['none of them', REPORT, [HTML, TEXT, PACK], []],
])('check warns of custom templates that omit part of a report: %s', async (_, report, files, expected) => {
  const templates = await jobsFolder(Object.fromEntries(files.map((name) => [name, OLDER[name] ?? ''])));
  const jobs = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': report });
  const env = { DOCKET_JOBS: jobs, DOCKET_TEMPLATES: templates };
  const { stdout } = await runCommand(['check', '--offline', '--json'], { env });
  const { faults, warnings } = JSON.parse(stdout);
  expect(faults).toEqual([]);
  expect(warnings.map(({ file, got, next }: Record<string, string>) => [file, got !== '' && next !== ''])).toEqual(
    expected.map(([file]) => [`${templates}/${file}`, true]),
  );
  for (const [index, [, names]] of expected.entries())
    expect(warnings[index].expected).toContain(`${names}, for acme/weekly`);
});

test('check does not warn of custom templates that use the variables', async () => {
  const files = Object.fromEntries(
    await Promise.all([HTML, TEXT, PACK].map(async (name) => [name, await builtIn(name)])),
  );
  const jobs = await jobsFolder({
    'acme/org.yaml': ORG,
    'acme/weekly.yaml': `${APPROVED}corrections: { watch: 35d, materiality: 1% }\n`,
  });
  const env = { DOCKET_JOBS: jobs, DOCKET_TEMPLATES: await jobsFolder(files) };
  const { code, stdout } = await runCommand(['check', '--offline', '--json'], { env });
  const { faults, warnings } = JSON.parse(stdout);
  expect([code, faults, warnings]).toEqual([0, [], []]);
});
