import { readFileSync } from 'node:fs';
import { read, utils } from '@e965/xlsx';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { strFromU8, unzipSync } from 'fflate';
import { expect, test } from 'vitest';
import { compileMjml } from '../../src/render/email/mjml.ts';
import { escapeFormula } from '../../src/render/formats/csv/csv-fields.ts';
import { escapeXml } from '../../src/render/formats/xlsx/package/xml-text.ts';
import { sheetNames } from '../../src/render/formats/xlsx/sheet-names.ts';
import { countColumn, dataset, groupColumn, row, table } from '../support/dataset.ts';
import {
  cases,
  expectCleanPrototypes,
  hostileText,
  least,
  mutatedText,
  resolveOrUndefined,
  within,
} from '../support/fuzz.ts';
import { artifactNamed, useRenderFolder } from '../support/render-folder.ts';

const { render } = useRenderFolder();

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what no file may contain
const NO_TEXT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]|[\ud800-\udfff]/gu;
/** Excel's limit of one cell, in UTF-16 units. */
const MOST = 32_767;

test(
  'other programs read a workbook and a CSV file of any texts without a formula and with every figure',
  async () => {
    const long = fc
      .tuple(fc.constantFrom('=', '\u0007', '_x0041_', '😀', 'a\n', '&'), fc.integer({ min: 16_000, max: 33_000 }))
      .map(([part, times]) => part.repeat(times));
    const cell = fc.oneof({ weight: 12, arbitrary: hostileText() }, { weight: 1, arbitrary: long });
    const figure = fc.oneof(
      fc.constantFrom(0, -0, null, 2 ** 53, 1e300, -1e-300),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
    );
    const given = fc.record({
      title: hostileText(),
      label: hostileText(3),
      rows: fc.array(fc.tuple(cell, figure), { minLength: 1, maxLength: 4 }),
      note: hostileText(3),
    });
    await fc.assert(
      fc.asyncProperty(given, async ({ title, label, rows, note }) => {
        const section = table({
          id: 'a',
          title: title || 'a',
          description: note || 'a',
          columns: [
            { ...groupColumn, label },
            { ...countColumn, description: note },
          ],
          rows: rows.map(([text, value]) => row({ 'profile.group': text, 'profiles.created': value })),
        });
        const artifacts = await resolveOrUndefined(
          () =>
            render(dataset([section], { title: title || 'a', organization: note || 'a' }), [
              { format: 'xlsx' },
              { format: 'csv' },
            ]),
          { title, label, rows },
        );
        expectCleanPrototypes();
        if (artifacts === undefined) return;

        const bytes = readFileSync(artifactNamed(artifacts, '.xlsx').path);
        for (const [name, part] of Object.entries(unzipSync(bytes))) {
          if (/\.(xml|rels)$/.test(name)) expect(strFromU8(part), name).not.toMatch(NOT_XML);
        }
        const book = read(bytes, { cellFormula: true });
        expect(new Set(book.SheetNames.map((name) => name.toLowerCase())).size).toBe(book.SheetNames.length);
        const numbers: unknown[] = [];
        for (const sheet of Object.values(book.Sheets)) {
          for (const [place, found] of Object.entries(sheet)) {
            if (place.startsWith('!')) continue;
            // A text that begins like a formula stays a text.
            expect(found.f).toBeUndefined();
            if (found.t === 's') expect(String(found.v).length).toBeLessThanOrEqual(MOST);
            if (found.t === 'n') numbers.push(found.v);
          }
          expect(() => utils.sheet_to_json(sheet)).not.toThrow();
        }
        for (const [, value] of rows)
          if (value !== null) expect(numbers.some((one) => one === value || Number(value) === one)).toBe(true);

        const fields: string[][] = parse(readFileSync(artifactNamed(artifacts, ' a.csv').path), {
          bom: true,
          record_delimiter: '\r\n',
          columns: false,
        });
        expect(fields).toHaveLength(rows.length + 1);
        fields.slice(1).forEach(([text = '', value = ''], index) => {
          const written = (rows[index]?.[0] ?? '').replace(NO_TEXT, '\ufffd').replaceAll("'", '');
          expect(text.replaceAll("'", '')).toBe(Buffer.from(written).toString());
          if (value !== '') expect(Number(value)).toBe((rows[index]?.[1] ?? 0) + 0);
        });
      }),
      cases(40),
    );
  },
  within(12),
);

test(
  'sheets have unique names that Excel accepts',
  () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(hostileText(8), fc.constantFrom('History', "'a'", 'a'.repeat(40), 'A'.repeat(40))), {
          maxLength: 6,
        }),
        (titles) => {
          const names = sheetNames(titles, 'Section');
          expect(names).toHaveLength(titles.length);
          expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
          for (const name of names) {
            expect(name.length > 0 && name.length <= 31, name).toBe(true);
            expect(name).not.toMatch(/[[\]:*?/\\]|^'|'$|^history$|[\u202e\u2066]/i);
            expect(name).not.toMatch(NOT_XML);
          }
        },
      ),
      cases(1_500),
    );
  },
  within(2),
);

test(
  'any text is valid in XML and starts no formula in a CSV field',
  () => {
    fc.assert(
      fc.property(hostileText(10), (text) => {
        expect(escapeXml(text)).not.toMatch(NOT_XML);
        expect(escapeXml(text)).not.toMatch(/[<>"]|&(?!(amp|lt|gt|quot);)/);
        const safe = escapeFormula(text);
        expect(safe).not.toMatch(/^\s*[=+\-@＝＋－＠]/);
        expect(escapeFormula(safe)).toBe(safe);
        expect(safe.replaceAll("'", '')).toBe(text.replaceAll("'", ''));
      }),
      cases(2_000),
    );
  },
  within(2),
);

test(
  'any template is either rendered or refused at a line, and does not affect the next template',
  () => {
    const page = (text: string) =>
      `<mjml>\n<mj-body><mj-section><mj-column><mj-text>\n${text}\n</mj-text></mj-column></mj-section></mj-body></mjml>`;
    const WORDS = [
      '<div>',
      '</div>',
      '<mj-text>',
      '</mj-text>',
      '<mj-raw>',
      '<mj-image',
      '/>',
      '<!--',
      '-->',
      '<br>',
      '{% if 5 > 3 %}',
      '{% endif %}',
      '<mj-section>',
      '<mj-column>',
      '<mj-attributes>',
      '<mj-include path="/etc/passwd" />',
      '<![CDATA[',
      '&#0;',
      'width="1e9px"',
    ];
    const deep = fc
      .tuple(fc.constantFrom('div', 'mj-text', 'mj-section', 'a b="c"', 'p/'), fc.nat({ max: 5_000 }))
      .map(([tag, times]) => page(`<${tag}>`.repeat(times) + `</${tag.split(' ')[0]}>`.repeat(times)));
    const good = compileMjml(page('hello'));
    const mark =
      '<mjml>\n<mj-body><mj-section><mj-column><mj-text>\ufeffp>\n</mj-text></mj-column></mj-section></mj-body></mjml>';
    expect(compileMjml(mark)).toMatchObject({
      issue: { line: 2, column: 42, message: expect.stringContaining('invisible') },
    });
    expect(compileMjml(page('hello'))).toEqual(good);
    let made = 0;
    fc.assert(
      fc.property(
        fc.oneof({ weight: 8, arbitrary: mutatedText([page('hello'), page('<p>{{ title }}</p>')], WORDS) }, deep),
        (source) => {
          const result = compileMjml(source);
          if ('issue' in result) {
            expect(result.issue.line).toBeGreaterThanOrEqual(1);
            expect(result.issue.message).toMatch(/\S/);
          } else {
            made += 1;
            expect(result.html).not.toContain('root:x:');
          }
          expect(compileMjml(page('hello'))).toEqual(good);
        },
      ),
      cases(400),
    );
    expect(made).toBeGreaterThan(least(20));
  },
  within(4),
);
