import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { CommentBlock } from '../../../src/definitions/commentary/comment-text.ts';
import type { Output } from '../../../src/definitions/schema/kinds.ts';
import type { Dataset, Table } from '../../../src/fetch/dataset.ts';
import type { Artifact, MailBodyName } from '../../../src/render/artifact.ts';
import { renderEmail } from '../../../src/render/email/render-email.ts';
import { packData } from '../../../src/render/formats/pdf/data/pack-data.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import { countColumn, dataset, groupColumn, MADE_AT, onboarding, row, table, workload } from '../../support/dataset.ts';
import { cellsOf, readParts, readWorkbook } from '../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../support/render-folder.ts';
import { comment, commented, HOSTILE } from '../../support/reviewed-dataset.ts';

const { render } = useRenderFolder();
const OUTPUTS = [{ format: 'xlsx' }, { format: 'csv' }] as Output[];
const FILE: Artifact = { name: 'KPIs.xlsx', format: 'xlsx', mediaType: '', path: '/', bytes: 4321, sha256: '' };

const summarized: Table = table({
  id: 'scorecard',
  title: 'Scorecard',
  layout: { kind: 'scorecard', groups: [] },
  columns: [countColumn],
  rows: [row({ [countColumn.name]: 12 })],
});
const unprinted: Table = table({
  id: 'list',
  title: 'People',
  range: null,
  print: false,
  columns: [{ name: 'name', label: 'Name', kind: 'field', type: 'string', unit: null }],
  rows: [row({ name: 'Grace Hopper' })],
});
const DATA = dataset([summarized, onboarding, workload, unprinted]);

const mail = (data: Dataset, body: MailBodyName = 'full', artifacts: readonly Artifact[] = [FILE]) =>
  renderEmail(data, artifacts, { run: '0123456789abcdef0123456789abcdef', madeAt: MADE_AT, attached: ['xlsx'], body });
const textsOn = (artifacts: readonly Artifact[], sheet: string): string[] =>
  cellsOf(readWorkbook(artifactNamed(artifacts, '.xlsx').path), sheet).flatMap((cells) =>
    cells.flatMap((cell) => (cell?.t === 's' ? [String(cell.v)] : [])),
  );
const count = (text: string, part: string): number => text.split(part).length - 1;

describe('a comment', () => {
  it('stands once beside its figures in the workbook, the PDF and the e-mail', async () => {
    const ids = [null, ...DATA.tables.map(({ id }) => id)];
    const data = { ...DATA, comments: ids.map((id) => comment(id, `Remark on ${id}.`)) };
    const artifacts = await render(data, OUTPUTS);
    const remarksOn = (sheet: string) => textsOn(artifacts, sheet).filter((text) => text.startsWith('Remark on'));
    expect(remarksOn('Summary')).toEqual(['Remark on scorecard.', 'Remark on null.']);
    expect(remarksOn('Onboarding')).toEqual(['Remark on onboarding.']);
    expect(remarksOn('Open workload')).toEqual(['Remark on workload.']);
    expect(remarksOn('People')).toEqual(['Remark on list.']);
    expect(textsOn(artifacts, 'Onboarding')).toContain('Comment by Ada Lovelace, 16 November 2026');

    const pdf = packData(buildPack(data), data, { run: '', digest: '', madeAt: MADE_AT, formats: ['pdf'] });
    const textOf = (comments: typeof pdf.comments) =>
      comments.map(({ lines }) => lines.map(({ spans }) => spans.map(({ text }) => text).join('')).join('|'));
    expect(textOf(pdf.comments)).toEqual(['Remark on null.']);
    expect(textOf(pdf.summaryComments)).toEqual(['Remark on scorecard.']);
    expect(pdf.sections.map(({ id, kind, comments }) => [id, kind, textOf(comments)])).toEqual([
      ['onboarding', 'table', ['Remark on onboarding.']],
      ['workload', 'table', ['Remark on workload.']],
      // A section that is not printed shows only its comment.
      ['list', 'text', ['Remark on list.']],
    ]);

    for (const body of ['full', 'summary', 'notice'] as const) {
      const { html, text } = await mail(data, body);
      for (const id of ids) {
        const expected = body === 'notice' ? 0 : 1;
        expect([body, id, count(html, `Remark on ${id}.`), count(text, `Remark on ${id}.`)]).toEqual([
          body,
          id,
          expected,
          expected,
        ]);
      }
    }
  });

  it('has its emphasis and its lists in the workbook and in the e-mail', async () => {
    const data = { ...DATA, comments: [comment('onboarding', 'A **bold** and *soft* word.\n\n1. one\n2. two')] };
    const artifacts = await render(data, OUTPUTS);
    expect(textsOn(artifacts, 'Onboarding')).toEqual(
      expect.arrayContaining(['A bold and soft word.', '1. one', '2. two']),
    );
    const strings = readParts(artifactNamed(artifacts, '.xlsx').path).get('xl/sharedStrings.xml') ?? '';
    expect(strings).toMatch(/<r><rPr>(?:(?!<\/rPr>).)*<b\/>(?:(?!<\/rPr>).)*<\/rPr><t[^>]*>bold<\/t><\/r>/);
    expect(strings).toMatch(/<r><rPr>(?:(?!<\/rPr>).)*<i\/>(?:(?!<\/rPr>).)*<\/rPr><t[^>]*>soft<\/t><\/r>/);
    const { html, text } = await mail(data);
    expect(html).toContain('A <b>bold</b> and <i>soft</i> word.');
    expect(text).toContain('A bold and soft word.');
  });

  it('is text, even when it looks like a formula, markup or a header', async () => {
    const data = commented(DATA, HOSTILE.join('\n\n'));
    const artifacts = await render(
      { ...data, comments: [...(data.comments ?? []), comment(null, 'x', '=cmd\r\nBcc: a@b.example\u202e')] },
      OUTPUTS,
    );
    const book = readWorkbook(artifactNamed(artifacts, '.xlsx').path);
    for (const sheet of book.SheetNames) {
      for (const cell of cellsOf(book, sheet).flat()) expect(cell?.f).toBeUndefined();
    }
    expect(textsOn(artifacts, 'Onboarding')).toEqual(
      expect.arrayContaining([HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[4]]),
    );

    const csv = await readFile(artifactNamed(artifacts, '.comments.csv').path, 'utf8');
    for (const field of csv.split(/[,;\t\r\n]/)) expect(field.replace(/^"/, '')).not.toMatch(/^\s*[=+\-@＝＋－＠]/);
    const plain = await render({ ...DATA, comments: [comment(null, HOSTILE[0])] }, [
      { format: 'csv', csv: { raw: true, bom: false } },
    ] as Output[]);
    expect(await readFile(artifactNamed(plain, '.comments.csv').path, 'utf8')).toMatch(/^Section,.*\r\n,,"=HYPERLINK/);

    const { html, text } = await mail(data);
    expect(html).not.toMatch(/<script|<img src=x|https:\/\/evil\.example"|\{\{ org \}\}.*acme<\/p>/);
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    for (const part of [html, text]) expect(part).not.toContain('\u202e');
    // A line break in a comment must not begin a line that looks like another part of the e-mail.
    expect(text).not.toMatch(/^\s*Bcc:/m);
  });

  it('has at most 400 characters in the e-mail, cut at a word, and says where the rest is', async () => {
    const long = 'Seventeen letters '.repeat(60).trim();
    const { text } = await mail({ ...DATA, comments: [comment('onboarding', long), comment(null, long)] });
    const shown = text.split('\n').filter((line) => line.includes('Seventeen letters'));
    expect(shown).toHaveLength(2);
    for (const line of shown) {
      expect(line.trim()).toMatch(/^(Seventeen letters )+(Seventeen )?…$/);
      expect(line.trim().length).toBeLessThanOrEqual(402);
      expect(line.trim().length).toBeGreaterThan(380);
    }
    expect(count(text, 'Continued in the attached workbook.')).toBe(2);
    // Without a file that has the rest, the e-mail has the full text.
    const whole = await mail({ ...DATA, comments: [comment(null, long)] }, 'full', []);
    expect(whole.text).toContain(long);
    expect(whole.text).not.toContain('Continued');
  });

  it.each([
    ['en-GB', 'Asked of you', 'Actions', ['Decision', 'Action', 'Action']],
    ['de-CH', 'Von Ihnen erbeten', 'Massnahmen', ['Beschluss', 'Massnahme', 'Maßnahme']],
  ] as const)(
    'in %s lists its decisions and actions separately in the e-mail, with and without an owner',
    async (locale, requested, actions, words) => {
      const [decision, action, other] = words;
      const lines = [`${decision}: one more analyst.`, 'A calm month.', `${action} (MLRO, 30 Nov): close *July*.`];
      const data = { ...DATA, comments: [comment(null, [...lines, `${other}: look again.`].join('\n\n'))] };
      const { html, text } = await renderEmail(data, [FILE], {
        run: '0123456789abcdef0123456789abcdef',
        madeAt: MADE_AT,
        attached: ['xlsx'],
        locale,
      });
      expect(text).toContain(
        [
          '',
          '  A calm month.',
          requested,
          '  ▸ one more analyst.',
          actions,
          '  • MLRO, 30 Nov: close July.',
          '  • look again.',
          '',
        ].join('\n'),
      );
      const marks = [...html.matchAll(/<p class="by">([^<]*)<\/p>|<p dir="auto" class="item">(.*?)<\/p>/g)];
      expect(marks.map(([, heading, item]) => heading ?? item).slice(1)).toEqual([
        requested,
        '▸ one more analyst.',
        actions,
        '• <b>MLRO, 30 Nov: </b>close <i>July</i>.',
        '• look again.',
      ]);
      for (const word of words) expect(text).not.toContain(`${word}:`);
    },
  );

  it('of 4,000 characters keeps its twelve actions in the e-mail, up to 800 characters', async () => {
    const action = (n: number) => `Action (owner ${n}, 30 November): do thing ${n}.`;
    const actions = Array.from({ length: 12 }, (_, index) => action(index + 1)).join('\n');
    const text = `${'Seventeen letters '
      .repeat(200)
      .slice(0, 3_990 - actions.length)
      .trim()}\n\n${actions}`;
    expect(text.length).toBeGreaterThan(3_950);
    const shown = (await mail({ ...DATA, comments: [comment(null, text)] })).text;
    for (let n = 1; n <= 12; n += 1) expect(shown).toContain(`  • owner ${n}, 30 November: do thing ${n}.`);
    expect(count(shown, 'Continued in the attached workbook.')).toBe(1);
    const long = `${actions.replaceAll('do thing', `do ${'the same '.repeat(20)}thing`)}`;
    const cut = (await mail({ ...DATA, comments: [comment(null, long)] })).text.split('\n');
    const items = cut.filter((line) => line.startsWith('  • owner'));
    expect(items.join('').length).toBeLessThan(880);
    expect(items.at(-1)).toMatch(/ …$/);
    expect(cut).toContain('  Continued in the attached workbook.');
  });

  it('of 4,000 characters fits the workbook, in rows that Excel can show', async () => {
    const words = 'Gegenparteirisikoeinstufung '.repeat(143).trim();
    const narrow = table({
      id: 'groups',
      title: 'Groups',
      columns: [groupColumn, countColumn],
      rows: [row({ 'profile.group': 'A', [countColumn.name]: 1 })],
    });
    const artifacts = await render(
      { ...dataset([narrow]), comments: [comment('groups', words), comment(null, `${'漢字 '.repeat(1_300)}`)] },
      [{ format: 'xlsx' }] as Output[],
    );
    const parts = readParts(artifactNamed(artifacts, '.xlsx').path);
    const heights = [...parts].flatMap(([name, xml]) =>
      name.startsWith('xl/worksheets/sheet')
        ? [...xml.matchAll(/ ht="([\d.]+)"/g)].map(([, points]) => Number(points))
        : [],
    );
    expect(Math.max(...heights)).toBeLessThan(409);
    const text = textsOn(artifacts, 'Groups')
      .filter((each) => each.startsWith('Gegenpartei'))
      .join(' ');
    expect(text).toBe(words);
  });

  it('has single lines without unpaired direction controls, wherever its blocks come from', () => {
    const blocks: CommentBlock[] = [
      { kind: 'paragraph', spans: [{ text: 'a\r\nb\u202ec' }, { text: '' }] },
      { kind: 'list', ordered: true, items: [[{ text: '' }], [{ text: 'd\u2028e', emphasis: 'em' }]] },
      { kind: 'paragraph', spans: [] },
    ];
    expect(buildPack({ ...DATA, comments: [comment(null, blocks)] }).comments[0]?.blocks).toEqual([
      { kind: 'paragraph', spans: [{ text: 'a bc' }] },
      { kind: 'list', ordered: true, items: [[{ text: 'd e', emphasis: 'em' }]] },
    ]);
  });

  it('on an unknown section becomes a comment on the whole report', () => {
    const pack = buildPack({ ...DATA, comments: [comment('gone', 'A remark.')] });
    expect(pack.comments).toMatchObject([{ section: null, blocks: [{ spans: [{ text: 'A remark.' }] }] }]);
  });
});
