import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Dataset, Table } from '../../src/fetch/dataset.ts';
import { checkPackTemplates } from '../../src/render/formats/pdf/check-templates.ts';
import { packData } from '../../src/render/formats/pdf/data/pack-data.ts';
import type { ScorecardData } from '../../src/render/formats/pdf/data/scorecard-data.ts';
import type { TableData } from '../../src/render/formats/pdf/data/table-data.ts';
import { type Coverage, packCoverage, withPdfNames } from '../../src/render/formats/pdf/pdf-names.ts';
import type { TypstLimits } from '../../src/render/formats/pdf/typst/typst-compiler.ts';
import { type PdfOptions, writePdf } from '../../src/render/formats/pdf/write-pdf.ts';
import { buildPack } from '../../src/render/pack/build-pack.ts';
import {
  countColumn,
  dataset,
  groupColumn,
  MADE_AT,
  nastyDataset,
  onboarding,
  row,
  table,
  workload,
} from '../support/dataset.ts';
import { program } from '../support/debian.ts';

const run = promisify(execFile);
const LARGE = { maxBuffer: 64 * 1024 * 1024 };
const RUN = { run: 'r'.repeat(32), digest: 'd'.repeat(64), madeAt: MADE_AT };

let folder: string;
let made = 0;
let covers: Coverage;
beforeAll(async () => {
  covers = await packCoverage({ fonts: [] });
  folder = await mkdtemp(join(tmpdir(), 'docket-pdf-'));
  await program('qpdf', 'qpdf');
  await program('pdfinfo', 'poppler-utils');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function pdfOf(data: Dataset, options: Partial<PdfOptions> = {}): Promise<string> {
  made += 1;
  const path = join(folder, `${made}.pdf`);
  await writePdf(path, data, { ...RUN, signal: new AbortController().signal, ...options });
  return path;
}

const info = async (path: string): Promise<string> => (await run('pdfinfo', [path], LARGE)).stdout;
const pagesOf = async (path: string): Promise<number> => Number(/Pages:\s+(\d+)/.exec(await info(path))?.[1]);
const textOf = async (path: string): Promise<string> => (await run('pdftotext', [path, '-'], LARGE)).stdout;

/** The texts of all table cells in reading order, which is the order of the tags. */
async function cellsOf(path: string): Promise<string[]> {
  const { stdout } = await run('pdfinfo', ['-struct-text', path], LARGE);
  const cells: string[] = [];
  let depth = Number.POSITIVE_INFINITY;
  for (const line of stdout.split('\n')) {
    const indent = line.search(/\S/);
    if (indent === -1) continue;
    if (/^\s*T[HD]\b/.test(line)) {
      cells.push('');
      depth = indent;
    } else if (indent <= depth) depth = Number.POSITIVE_INFINITY;
    else {
      const text = /^\s*"(.*)"$/.exec(line)?.[1];
      if (text !== undefined) cells.push(`${cells.pop() ?? ''}${text}`);
    }
  }
  return cells.map(squeezed);
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Drops isolates and spaces, which differ with line breaks. */
const squeezed = (text: string): string =>
  text.replaceAll(/[\u2066-\u2069\u00ad\s\p{Cc}]+/gu, '').replaceAll('🚀', '□');

/** The cells that the PDF of a table must have: header and body. */
const expectedTable = ({ groups, headers, rows }: TableData): string[] =>
  [
    ...groups.map(({ text }) => text),
    ...headers.map(({ text }) => text),
    ...rows.flatMap(({ cells }) => cells.map(({ text, status }) => `${status?.word ?? ''}${text}`)),
  ].map(squeezed);

const expectedScorecard = ({ headers, groups }: ScorecardData): string[] =>
  [
    headers.metric,
    headers.value,
    ...headers.compared.flatMap(({ value, change }) => [value, change]),
    ...[headers.toDate, headers.target, headers.status, headers.trend].filter((text) => text !== ''),
    ...groups.flatMap(({ title, rows }) => [
      ...(title === '' ? [] : [title]),
      ...rows.flatMap((each) => [
        each.label,
        each.value,
        ...each.compared.flatMap((compared) => [
          compared?.value ?? '',
          `${compared?.change ?? ''}${compared?.toneWord ?? ''}`,
        ]),
        ...(headers.toDate === '' ? [] : [each.toDate]),
        ...(headers.target === '' ? [] : [`${each.target}${each.watch}`]),
        ...(headers.status === '' ? [] : [each.status?.word ?? '']),
        ...(headers.trend === '' ? [] : ['']),
      ]),
    ]),
  ].map(squeezed);

function expectedCells(data: Dataset, locale = 'en-GB'): string[] {
  const pack = packData(buildPack(withPdfNames(data, covers), { locale }), data, { ...RUN, formats: [] });
  return [
    ...(pack.summary === null ? [] : expectedScorecard(pack.summary)),
    ...pack.sections.flatMap(({ scorecard, tables }) => [
      ...(scorecard === null ? [] : expectedScorecard(scorecard)),
      ...tables.flatMap(expectedTable),
    ]),
  ];
}

/** Low limits, so that a bad template is killed soon. */
const LOW: TypstLimits = { deadlineMs: 3000, memoryMb: 400 };

async function withTemplate(source: string, name = 'pack.typ'): Promise<string> {
  const templates = await mkdtemp(join(folder, 'templates-'));
  const file = join(templates, 'pack', name);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, source);
  return templates;
}

describe('the PDF of a pack', () => {
  test('is valid, tagged, titled, in its language, with embedded fonts and bookmarks', async () => {
    const path = await pdfOf(dataset([onboarding, workload]), { classification: 'Confidential', locale: 'de-CH' });
    await run('qpdf', ['--check', path]);
    expect(await info(path)).toMatch(/Title:\s+Weekly compliance KPIs\n[\s\S]*Tagged:\s+yes/);
    const { stdout: objects } = await run('qpdf', ['--qdf', '--object-streams=disable', path, '-'], LARGE);
    expect(objects).toMatch(/\/Lang \(de(-CH)?\)/);
    expect(objects).toContain('/Outlines');
    expect(objects).toMatch(/pdfuaid:part|\/ViewerPreferences/);
    const { stdout: fonts } = await run('pdffonts', [path]);
    const lines = fonts.trim().split('\n').slice(2);
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(line).toMatch(/\s+yes\s+yes\s+yes\s+\d+\s+0$/);
    expect(await textOf(path)).toContain('Confidential');
    // Charts are vector graphics, not images.
    expect((await run('pdfimages', ['-list', path])).stdout.trim().split('\n')).toHaveLength(2);
  });

  test.each(['en-GB', 'de-DE'])('has the figures of the pack in reading order, in %s', async (locale) => {
    for (const data of [dataset([onboarding, workload]), nastyDataset()]) {
      const path = await pdfOf(data, { locale });
      await run('qpdf', ['--check', path]);
      const expected = expectedCells(data, locale);
      const cells = await cellsOf(path);
      // Wide tables repeat their header where they continue.
      const found = cells.filter((text) => text !== '');
      let at = 0;
      // Tools return right-to-left letters as drawn. A test below checks them.
      for (const text of expected.filter((each) => each !== '' && !RIGHT_TO_LEFT.test(each))) {
        const next = found.findIndex((each, index) => index >= at && each === text);
        expect(next, `${text} after ${found.slice(Math.max(0, at - 3), at).join(' | ')}`).toBeGreaterThanOrEqual(at);
        at = next + 1;
      }
    }
  });

  test('is deterministic', async () => {
    const [one, other] = [await pdfOf(nastyDataset()), await pdfOf(nastyDataset())];
    expect((await readFile(one)).equals(await readFile(other))).toBe(true);
  });

  test('shows texts as written, never as markup', async () => {
    const title = '#strong[x] $a^2$ *bold* _it_ @ref <lbl> \\n // no /* comment */ `raw` ~ -- "q"';
    const path = await pdfOf(dataset([{ ...onboarding, title }], { title, description: `= ${title}` }));
    expect(squeezed(await textOf(path))).toContain(squeezed(title));
    expect(await info(path)).toContain(`Title:           ${title}`);
  });

  test('wraps labels of 200 characters, and fits 40 groups, 100 metrics and an empty section', async () => {
    const long = `${'A label that goes on and on '.repeat(7)}and ends`.slice(0, 200);
    const word = 'abcdefghij'.repeat(20);
    const groups = Array.from({ length: 40 }, (_, index) =>
      index === 0 ? long : index === 1 ? word : `Group ${index}`,
    );
    const metrics = Array.from({ length: 100 }, (_, index) => ({
      ...countColumn,
      name: `metric.${index}`,
      label: `Metric ${index} of a long name`,
    }));
    const values = Object.fromEntries(metrics.map(({ name }, index) => [name, index]));
    const path = await pdfOf(
      dataset([
        table({
          id: 'groups',
          title: long,
          chart: 'column',
          columns: [groupColumn, countColumn],
          rows: groups.map((group, index) => row({ 'profile.group': group, 'profiles.created': index })),
        }),
        table({
          id: 'wide',
          columns: [groupColumn, ...metrics],
          rows: groups.slice(2, 5).map((group) => row({ 'profile.group': group, ...values })),
        }),
        table({ id: 'single', columns: metrics, rows: [row(values)] }),
        table({ id: 'empty', columns: [groupColumn, countColumn], rows: [] }),
      ]),
    );
    const cells = await cellsOf(path);
    for (const label of [long, 'Group 39', 'Metric 99 of a long name']) expect(cells).toContain(squeezed(label));
    const { stdout: raw } = await run('pdftotext', ['-raw', path, '-'], LARGE);
    expect(squeezed(raw)).toContain(word);
    expect(squeezed(raw)).toContain('Norows');
    const { stdout } = await run('pdftotext', ['-bbox', path, '-'], LARGE);
    for (const [, xMax] of stdout.matchAll(/<word xMin="[\d.]+" yMin="[\d.]+" xMax="([\d.]+)"/g)) {
      expect(Number(xMax)).toBeLessThanOrEqual(842);
    }
  });

  test('shows right-to-left names', async () => {
    const path = await pdfOf(
      dataset([
        table({
          id: 'names',
          columns: [groupColumn, countColumn],
          rows: ['مجموعة العملاء', 'קבוצה'].map((group) => row({ 'profile.group': group, 'profiles.created': 1 })),
        }),
      ]),
    );
    const text = await textOf(path);
    expect(text).toContain('קבוצה');
    expect(text).toMatch(/[\u0600-\u06ff]{3}/);
    expect((await run('pdffonts', [path])).stdout).toContain('NotoSansArabic');
  });

  test('shows the first rows of a long table, and names the file with the rest', async () => {
    const rows = Array.from({ length: 20_000 }, (_, index) =>
      row({ 'profile.group': `Group ${index}`, 'profiles.created': index }),
    );
    const path = await pdfOf(dataset([table({ id: 'long', columns: [groupColumn, countColumn], rows })]), {
      outputs: ['pdf', 'csv'],
    });
    const text = await textOf(path);
    expect(text).toContain('Group 1999');
    expect(text).not.toContain('Group 2000');
    expect(text).toMatch(/2,000 of 20,000 rows[\s\S]*CSV/);
  });

  test('fills at least a quarter of each page except the last, with any number of sections', async () => {
    const section = (index: number): Table => ({
      ...onboarding,
      id: `s${index}`,
      title: `Section ${index}`,
      rows: 'path' in onboarding.rows ? [] : onboarding.rows.slice(0, 1 + (index % 7)),
      ...(index % 3 === 0 ? {} : { chart: undefined as never }),
    });
    const path = await pdfOf(dataset(Array.from({ length: 30 }, (_, index) => section(index))));
    const pages = await pagesOf(path);
    const { stdout } = await run('pdftotext', ['-bbox', path, '-'], LARGE);
    const bottoms = stdout
      .split('<page ')
      .slice(1)
      .map((page) =>
        Math.max(
          ...[...page.matchAll(/yMax="([\d.]+)"/g)].map(([, yMax]) => Number(yMax)).filter((yMax) => yMax < 555),
        ),
      );
    expect(bottoms).toHaveLength(pages);
    for (const bottom of bottoms.slice(0, -1)) expect(bottom - 44).toBeGreaterThan((555 - 44) / 4);
  });

  test('has no text below 8 pt', async () => {
    const path = await pdfOf(nastyDataset());
    const { stdout } = await run('pdftohtml', ['-xml', '-stdout', '-i', '-zoom', '1', path], LARGE);
    const sizes = [...stdout.matchAll(/<fontspec [^>]*size="(\d+)"/g)].map(([, size]) => Number(size));
    expect(sizes.length).toBeGreaterThan(2);
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(8);
  });
});

describe('a template of the organization', () => {
  const failure = (templates: string, limits: TypstLimits = LOW) =>
    pdfOf(dataset([onboarding]), { templates, limits }).then(
      () => undefined,
      (error: { code: string; where: string; message: string }) => error,
    );

  test('replaces the built-in file of the same path only', async () => {
    const templates = await withTemplate(
      '#let pack = json("pack.json")\n#set document(title: pack.title)\nOwn: #pack.title',
    );
    const path = await pdfOf(dataset([onboarding]), { templates });
    expect(await textOf(path)).toContain('Own: Weekly compliance KPIs');
    const styled = await withTemplate(
      (await readFile('templates/pack/style.typ', 'utf8')).replace('#let accent = rgb("#0b6e69")', '#let accent = red'),
      'style.typ',
    );
    expect(await checkPackTemplates(styled)).toEqual([]);
    expect(await pagesOf(await pdfOf(dataset([onboarding]), { templates: styled }))).toBeGreaterThan(0);
  });

  test('is reported with file, line and column if it has an error', async () => {
    const templates = await withTemplate('#set document(title: "x")\n\n  #nothing-here');
    const where = `${join(templates, 'pack', 'pack.typ')}:3:4`;
    expect(await failure(templates)).toMatchObject({ code: 'template.invalid', where });
    expect(await checkPackTemplates(templates)).toMatchObject([
      { file: join(templates, 'pack', 'pack.typ'), line: 3, column: 4, got: expect.stringContaining('nothing-here') },
    ]);
  });

  test.each([
    ['an absolute path', '#read("/etc/passwd")'],
    ['a path out of its folder', '#read("../../../../../etc/passwd")'],
    ['a package', '#import "@preview/cetz:0.3.0": canvas'],
    ['a package by a computed name', '#import ("@" + "preview/cetz:0.3.0"): canvas'],
    ['a plugin', '#plugin("/usr/lib/a.wasm")'],
  ])('cannot read %s', async (_, source) => {
    const templates = await withTemplate(`#set document(title: "x")\n${source}`);
    const error = await failure(templates);
    expect(error).toMatchObject({ code: 'template.invalid' });
    expect(error?.where).toMatch(/pack\.typ:2:\d+$/);
    expect(error?.message).not.toContain('root:');
  });

  test('cannot link to a file outside of its folder', async () => {
    const templates = await withTemplate('#set document(title: "x")\n#read("users.txt")');
    await symlink('/etc/passwd', join(templates, 'pack', 'users.txt'));
    expect(await failure(templates)).toMatchObject({
      code: 'template.invalid',
      where: join(templates, 'pack', 'users.txt'),
    });
    expect(await checkPackTemplates(templates)).toHaveLength(1);
  });

  test('is killed if it loops', async () => {
    const templates = await withTemplate(
      '#let spin(n) = { let x = 0; for i in range(9000) { for j in range(9000) { x += calc.rem(i * j, n) } }; x }\n#for n in range(2, 9000) { spin(n) }',
    );
    const startedAt = Date.now();
    expect(await failure(templates)).toMatchObject({
      code: 'template.invalid',
      where: `${join(templates, 'pack', 'pack.typ')}:1:1`,
    });
    expect(Date.now() - startedAt).toBeLessThan(60_000);
    expect(await checkPackTemplates(templates, undefined, LOW)).toMatchObject([{ line: 1, column: 1 }]);
  });

  test('is killed if it needs too much memory', async () => {
    const templates = await withTemplate(
      '#let all = ()\n#for i in range(9000) { all.push(range(200000)) }\n#all.len()',
    );
    expect(await failure(templates, { deadlineMs: 60_000, memoryMb: 400 })).toMatchObject({
      code: 'template.invalid',
      message: expect.stringContaining('memory'),
    });
  });

  test('does not see the environment of Docket', async () => {
    const templates = await withTemplate('#set document(title: "x")\n#sys.inputs.len()');
    expect((await textOf(await pdfOf(dataset([onboarding]), { templates }))).trim()).toBe('0');
  });
});

describe('a cancelled PDF', () => {
  test('leaves no process and no file', async () => {
    const stop = new AbortController();
    const pending = pdfOf(dataset([onboarding]), { signal: stop.signal });
    stop.abort(new Error('stopped'));
    await expect(pending).rejects.toThrow('stopped');
  });
});
