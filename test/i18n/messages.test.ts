import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LOCALE, LANGUAGES, messagesFor, selectLanguage } from '../../src/i18n/messages.ts';

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));

/** `mail.template.made` → `made`, for every message. */
const keysOf = (words: object): string[] =>
  Object.entries(words).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null ? keysOf(value) : [key],
  );

describe('the messages', () => {
  it('have the language of the locale and the number format of its region', () => {
    expect(messagesFor('de-DE').workbook.contents.rows).toBe('Zeilen');
    expect(messagesFor('de-DE').workbook.run.rows(12_345)).toBe('12.345 Zeilen');
    expect(messagesFor('de-CH').workbook.run.rows(12_345)).toMatch(/^12['’]345 Zeilen$/);
    expect(messagesFor('en-US').workbook.run.rows(12_345)).toBe('12,345 rows');
    expect(messagesFor().workbook.run.rows(1)).toBe('1 row');
  });

  it('use the quotation marks of the region', () => {
    expect(messagesFor('de-DE').notes.unknown_unit({ label: 'X', unit: 'chf' })).toContain('„chf“');
    expect(messagesFor('de-CH').notes.unknown_unit({ label: 'X', unit: 'chf' })).toContain('«chf»');
  });

  it('show an impossible date unchanged, and zero without a minus sign', () => {
    const { notes } = messagesFor();
    expect(notes.data_from({ label: 'X', first: '2026-02-30' })).toContain('2026-02-30');
    expect(notes.computed_long_ago({ at: '2026-02-30T10:00:00Z', timezone: 'UTC' })).toContain('2026-02-30T10:00:00Z');
    expect(messagesFor().workbook.run.rows(-0)).toBe('0 rows');
  });

  it('are English for an unsupported language', () => {
    expect(LANGUAGES).toEqual(['en', 'de']);
    expect(selectLanguage('fr-CH')).toBe(selectLanguage(DEFAULT_LOCALE));
  });

  it('are all used by the code or a template', () => {
    const sources = [
      ...filesIn('src/render'),
      ...filesIn('src/fetch'),
      ...filesIn('src/run'),
      ...filesIn('src/definitions'),
      ...filesIn('src/deliver'),
      ...filesIn('src/services'),
      ...filesIn('templates'),
    ]
      .filter((file) => /\.(ts|mjml|liquid)$/.test(file))
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n');
    const unused = keysOf(messagesFor()).filter((key) => !new RegExp(`\\b${key}\\b`).test(sources));
    expect(unused).toEqual([]);
  });

  it('contain no ß, which Switzerland does not use', () => {
    for (const file of filesIn('src/i18n/de').filter((name) => name.endsWith('.ts'))) {
      expect(readFileSync(file, 'utf8'), file).not.toContain('ß');
    }
  });
});
