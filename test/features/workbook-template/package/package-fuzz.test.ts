import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { unzipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { changeWorkbookKind } from '../../../../src/features/workbook-template/fill/fill-template.ts';
import { findRefusedContent } from '../../../../src/features/workbook-template/package/refused-content.ts';
import { tokenizeXml } from '../../../../src/features/workbook-template/package/tokenize-xml.ts';
import { writePackage } from '../../../../src/features/workbook-template/package/write-package.ts';
import { readWorkbook } from '../../../../src/features/workbook-template/workbook/read-workbook.ts';
import {
  cases,
  expectCleanPrototypes,
  least,
  mutatedText,
  readOrUndefined,
  resolveOrUndefined,
  within,
} from '../../../support/fuzz.ts';
import { minimalParts, relationship, temporaryFile, withPackage, zipped } from '../support/template-package.ts';

const template = (name: string): Uint8Array =>
  readFileSync(join(import.meta.dirname, '../../../recorded/workbooks/templates', name));

/** Opens, inspects and copies a workbook as filling does. */
const useTemplate = (bytes: Uint8Array) =>
  resolveOrUndefined(() =>
    withPackage(bytes, async (pack) => {
      await readWorkbook(pack);
      await findRefusedContent(pack);
      await writePackage(temporaryFile(), pack, await changeWorkbookKind(pack, 'remove'), new AbortController().signal);
      return 'used' as const;
    }),
  );

describe('random bytes', () => {
  test(
    'in a workbook give a workbook or an error',
    async () => {
      let used = 0;
      let refused = 0;
      const examples = [zipped(), template('everything.xlsx'), template('signed-macros.xlsm')];
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...examples),
          fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }), fc.boolean()), { minLength: 1, maxLength: 4 }),
          fc.option(fc.nat(), { freq: 6 }),
          async (example, edits, cut) => {
            const bytes = Buffer.from(example);
            for (const [at, value, atEnd] of edits) {
              // Half of the edits hit the central directory, which is at the end.
              const index = atEnd ? bytes.length - 1 - (at % Math.min(bytes.length, 1_500)) : at % bytes.length;
              bytes[index] = value;
            }
            const result = await useTemplate(cut === null ? bytes : bytes.subarray(0, cut % bytes.length));
            if (result === 'used') used += 1;
            else refused += 1;
          },
        ),
        cases(600),
      );
      expect(used).toBeGreaterThanOrEqual(least(20));
      expect(refused).toBeGreaterThanOrEqual(least(20));
    },
    within(20),
  );
});

describe('random XML', () => {
  const words = [
    '/xl/workbook.xml',
    '../..',
    '<!DOCTYPE a>',
    'A1:XFD1048576',
    'A0',
    '-1',
    '1e9',
    '<extLst>',
    ']]>',
    '&#0;',
  ];

  test(
    'in a workbook is read or rejected',
    async () => {
      const parts = minimalParts();
      await fc.assert(
        fc.asyncProperty(
          fc
            .constantFrom(...Object.keys(parts))
            .chain((part) => fc.tuple(fc.constant(part), mutatedText([parts[part]!], words))),
          async ([part, text]) => {
            await useTemplate(zipped({ [part]: text }));
          },
        ),
        cases(400),
      );
      expectCleanPrototypes();
    },
    within(10),
  );

  test('that can be read keeps every character', () => {
    const texts = Object.entries(unzipSync(template('everything.xlsx')))
      .filter(([name]) => /\.(?:xml|rels|vml)$/.test(name))
      .map(([, bytes]) => Buffer.from(bytes).toString().slice(0, 4_000));
    texts.push(...Object.values(minimalParts()), relationship('a', 'b', 'c', true));
    fc.assert(
      fc.property(mutatedText(texts, words), (text) => {
        const tokens = readOrUndefined(() => [...tokenizeXml(text)]);
        if (tokens !== undefined) expect(tokens.map(({ raw }) => raw).join('')).toBe(text);
      }),
      cases(1_000),
    );
    for (const text of texts) readOrUndefined(() => [...tokenizeXml(text)]);
  });
});
