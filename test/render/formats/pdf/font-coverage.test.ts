import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { displayable, glyphCoverage } from '../../../../src/render/charts/font-coverage.ts';
import { fontFiles } from '../../../../src/render/formats/pdf/typst/font-files.ts';

describe('characters of a PDF', () => {
  let covers: (character: string) => boolean;
  beforeAll(async () => {
    covers = glyphCoverage(await Promise.all(fontFiles().map((path) => readFile(path))));
  });

  it('have a glyph in its fonts, or are known to have none', () => {
    for (const character of 'aZ9ÄßéŽΩЖשם□–“%\n\u2068\u200b')
      expect([character, covers(character)]).toEqual([character, true]);
    for (const character of 'محمد') expect([character, covers(character)]).toEqual([character, true]);
    for (const character of ['中', '😀', 'ไ']) expect([character, covers(character)]).toEqual([character, false]);
  });

  it('are replaced by □ when no font has them, and control characters are left out', () => {
    let replaced = 0;
    const data = {
      text: '\u0000a中b\u0007\ufeff\ue000',
      list: ['😀', { deep: 'Ω' }],
      number: 1,
      none: null,
      flag: true,
    };
    expect(displayable(data, covers, () => (replaced += 1))).toEqual({
      text: 'a□b',
      list: ['□', { deep: 'Ω' }],
      number: 1,
      none: null,
      flag: true,
    });
    expect(replaced).toBe(2);
  });
});
