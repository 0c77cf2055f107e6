import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../../src/definitions/diagnostics/diagnostic.ts';
import { checkEmailTemplates } from '../../../src/render/email/check-templates.ts';
import { sampleTemplateData } from '../../../src/render/email/sample-data.ts';
import { openTemplate, TEMPLATES, templateFile } from '../../../src/render/email/template.ts';
import { useRenderFolder } from '../../support/render-folder.ts';

const { folder } = useRenderFolder();

const page = (text: string) =>
  `<mjml>\n<mj-body><mj-section><mj-column><mj-text>\n${text}\n</mj-text></mj-column></mj-section></mj-body></mjml>`;

async function checked(files: Readonly<Record<string, string>>): Promise<string[]> {
  const home = await folder();
  await mkdir(join(home, 'email'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(home, 'email', name), text);
  return checkEmailTemplates(home).map((fault) => formatDiagnostic(fault).replace(home, ''));
}

/** Every name in the data with the names above it, as the documentation writes them: `sections[].rows[].partial`. */
function namesIn(value: unknown, above = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => namesIn(each, `${above}[]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const path = above === '' ? name : `${above}.${name}`;
    return [path, ...namesIn(inner, path)];
  });
}

/** The variables that the table in the documentation lists, in the same notation. */
async function documented(): Promise<string[]> {
  const text = await readFile('templates/README.md', 'utf8');
  const rows = [...text.matchAll(/^\| (`.*?) \| (.*) \|$/gm)];
  return rows.flatMap(([, names = '', what = '']) => {
    const variables = [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
    const fields = [...what.matchAll(/`\.([a-z_]+)`/g)].map(([, name]) => name);
    const list = what.startsWith('list') ? '[]' : '';
    return variables.flatMap((name) => [name, ...fields.map((field) => `${name}${list}.${field}`)]);
  });
}

describe('the variables of templates', () => {
  it('are those that the documentation lists', async () => {
    const there = new Set(sampleTemplateData().flatMap((data) => namesIn(data)));
    // `tile_rows` repeats the tiles.
    const listed = (await documented()).filter((name) => !name.startsWith('tile_rows[]'));
    expect([...new Set(listed)].sort()).toEqual([...there].filter((name) => !name.startsWith('tile_rows[]')).sort());
  });

  it.each(['html', 'text'] as const)('include all that the built-in %s template uses', (kind) => {
    const opened = openTemplate(kind, templateFile(kind, undefined));
    if ('issue' in opened) throw new Error(opened.issue.message);
    for (const data of sampleTemplateData()) expect(opened.fill(data)).toHaveProperty('text');
    const known = Object.keys(sampleTemplateData()[0] ?? {});
    expect(opened.variables().map(({ path: [name] }) => name)).toSatisfy((names: string[]) =>
      names.every((name) => known.includes(name)),
    );
  });
});

describe('docket check of templates', () => {
  it('accepts copies of the built-in templates, and a folder with one of them', async () => {
    const own = Object.fromEntries(
      await Promise.all(
        (['html', 'text'] as const).map(
          async (kind) => [TEMPLATES[kind], await readFile(templateFile(kind, undefined), 'utf8')] as const,
        ),
      ),
    );
    expect(await checked(own)).toEqual([]);
    expect(await checked({ 'report.txt.liquid': '{{ title }}' })).toEqual([]);
    expect(await checked({})).toEqual([]);
  });

  it.each([
    [{ 'report.mjml': page('{{ titel }}') }, /report\.mjml:3:4: .*undefined variable: titel; do: did you mean "title"/],
    [{ 'report.mjml': page('{% if description == "x" %}{{ neverr }}{% endif %}') }, /mjml:3:\d+: .*neverr/],
    [{ 'report.mjml': page('{% for s in sections %}\n{{ s.titel }}{% endfor %}') }, /mjml:4:4: .*s\.titel/],
    [{ 'report.mjml': page('{{ title | shout }}') }, /mjml:3:1: .*shout/],
    [{ 'report.mjml': page('{% for tile in tiles %}') }, /mjml:3:1: .*not closed/],
    [{ 'report.mjml': page('').replace('</mj-column>', '') }, /mjml:4:\d+: .*<\/mj-section>.*<mj-column>/],
    [{ 'report.mjml': page('').replaceAll('mj-text', 'mj-txt') }, /mjml:2:\d+: .*<mj-txt>/],
    [{ 'report.txt.liquid': 'a\n{% include "x" %}' }, /txt\.liquid:2:1: .*x/],
    [{ 'report.mjml': page('<div>'.repeat(3_000) + '</div>'.repeat(3_000)) }, /mjml:3:\d+: .*\b200\b/],
    [{ 'report.mjml': '' }, /mjml:1:1: .*<mjml>/],
    [{ 'report.txt.liquid': 'a\nb {{ owner.name.first }}' }, /txt\.liquid:2:6: .*owner\.name/],
    [{ 'report.html.liquid': '<p>' }, /report\.html\.liquid:1:1: expected report\.mjml or report\.txt\.liquid/],
  ])('reports an error with its line: %j', async (files, fault) => {
    const faults = await checked(files);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(fault);
  });

  it('accepts a comparison in an attribute', async () => {
    const image = '</mj-text><mj-image alt="{% if 5 > 3 %}x{% endif %}" src="cid:a" /><mj-text>';
    expect(await checked({ 'report.mjml': page(image) })).toEqual([]);
  });

  it('reports a missing folder', async () => {
    const home = join(await folder(), 'nowhere');
    expect(checkEmailTemplates(home)).toMatchObject([{ file: join(home, 'email'), got: 'nothing' }]);
  });
});
