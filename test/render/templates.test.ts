import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatFault } from '../../src/define/fault.ts';
import { checkTemplates } from '../../src/render/check-templates.ts';
import { sampleData } from '../../src/render/sample.ts';
import { openTemplate, TEMPLATES, templateFile } from '../../src/render/template.ts';
import { useRenderFolder } from '../support/render-folder.ts';

const { folder } = useRenderFolder();

const page = (text: string) =>
  `<mjml>\n<mj-body><mj-section><mj-column><mj-text>\n${text}\n</mj-text></mj-column></mj-section></mj-body></mjml>`;

async function checked(files: Readonly<Record<string, string>>): Promise<string[]> {
  const home = await folder();
  await mkdir(join(home, 'email'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(home, 'email', name), text);
  return checkTemplates(home).map((fault) => formatFault(fault).replace(home, ''));
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

/** The variables that the table in the documentation lists, in the same writing. */
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
  it('are all there that the documentation lists, and it lists all that are there', async () => {
    const there = new Set(sampleData().flatMap((data) => namesIn(data)));
    // `tile_rows` holds the tiles once more.
    const listed = (await documented()).filter((name) => !name.startsWith('tile_rows[]'));
    expect([...new Set(listed)].sort()).toEqual([...there].filter((name) => !name.startsWith('tile_rows[]')).sort());
  });

  it.each(['html', 'text'] as const)('are enough for our own %s template', (kind) => {
    const opened = openTemplate(kind, templateFile(kind, undefined));
    if ('fault' in opened) throw new Error(opened.fault.why);
    for (const data of sampleData()) expect(opened.fill(data)).toHaveProperty('text');
    const known = Object.keys(sampleData()[0] ?? {});
    expect(opened.variables().map(({ path: [name] }) => name)).toSatisfy((names: string[]) =>
      names.every((name) => known.includes(name)),
    );
  });
});

describe('docket check of templates', () => {
  it('finds nothing wrong with copies of ours, or with a folder that changes one of them', async () => {
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
    [{ 'report.mjml': page('').replace('</mj-column>', '') }, /mjml:4:\d+: .*<\/mj-section> closes <mj-column>/],
    [{ 'report.mjml': page('').replaceAll('mj-text', 'mj-txt') }, /mjml:2:\d+: .*<mj-txt> is no element/],
    [{ 'report.txt.liquid': 'a\n{% include "x" %}' }, /txt\.liquid:2:1: .*x/],
    [{ 'report.mjml': page('<div>'.repeat(3_000) + '</div>'.repeat(3_000)) }, /mjml:3:\d+: .*more than 200 elements/],
    [{ 'report.mjml': '' }, /mjml:1:1: .*no <mjml> element/],
    [{ 'report.txt.liquid': 'a\nb {{ owner.name.first }}' }, /txt\.liquid:2:6: .*owner\.name/],
    [{ 'report.html.liquid': '<p>' }, /report\.html\.liquid:1:1: expected report\.mjml or report\.txt\.liquid/],
  ])('tells what is wrong with its line: %j', async (files, fault) => {
    const faults = await checked(files);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(fault);
  });

  it('lets an attribute hold a comparison', async () => {
    const image = '</mj-text><mj-image alt="{% if 5 > 3 %}x{% endif %}" src="cid:a" /><mj-text>';
    expect(await checked({ 'report.mjml': page(image) })).toEqual([]);
  });

  it('tells that the folder is not there', async () => {
    const home = join(await folder(), 'nowhere');
    expect(checkTemplates(home)).toMatchObject([{ file: join(home, 'email'), got: 'nothing' }]);
  });
});
