import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LOCALE, LANGUAGES, languageOf, wordsOf } from '../../src/words/words.ts';

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));

/** `mail.template.made` → `made`, for every message. */
const keysOf = (words: object): string[] =>
  Object.entries(words).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null ? keysOf(value) : [key],
  );

describe('the words', () => {
  it('are of the locale’s language, with the numbers of its region', () => {
    expect(wordsOf('de-DE').workbook.contents.rows).toBe('Zeilen');
    expect(wordsOf('de-DE').workbook.run.rows(12_345)).toBe('12.345 Zeilen');
    expect(wordsOf('de-CH').workbook.run.rows(12_345)).toMatch(/^12['’]345 Zeilen$/);
    expect(wordsOf('en-US').workbook.run.rows(12_345)).toBe('12,345 rows');
    expect(wordsOf().workbook.run.rows(1)).toBe('1 row');
  });

  it('quote as the region does', () => {
    expect(wordsOf('de-DE').notes.unknown_unit({ label: 'X', unit: 'chf' })).toContain('„chf“');
    expect(wordsOf('de-CH').notes.unknown_unit({ label: 'X', unit: 'chf' })).toContain('«chf»');
  });

  it('are English for a language that we do not have', () => {
    expect(LANGUAGES).toEqual(['en', 'de']);
    expect(languageOf('fr-CH')).toBe(languageOf(DEFAULT_LOCALE));
  });

  it('are all shown by something', () => {
    const sources = [
      ...filesIn('src/render'),
      ...filesIn('src/fetch'),
      ...filesIn('src/define'),
      ...filesIn('templates'),
    ]
      .filter((file) => /\.(ts|mjml|liquid)$/.test(file))
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n');
    const unused = keysOf(wordsOf()).filter((key) => !new RegExp(`\\b${key}\\b`).test(sources));
    expect(unused).toEqual([]);
  });

  it('hold in Switzerland: its German has no ß', () => {
    for (const file of filesIn('src/words/de').filter((name) => name.endsWith('.ts'))) {
      expect(readFileSync(file, 'utf8'), file).not.toContain('ß');
    }
  });
});
