import { posix } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DocketError } from '../../../src/base/error.ts';
import { findPathError, renderPath, safeFileName } from '../../../src/base/files/safe-path.ts';
import { cases } from '../../support/fuzz.ts';

const fill = (template: string, title: string): string =>
  renderPath(template, { title, period: { label: title } }, 'a path');

test.each([
  ['', /nothing/],
  ['  ', /nothing/],
  ['..', /"\.\."/],
  ['a/../b', /"\.\."/],
  ['./a', /"\."/],
  ['a//b', /without a name/],
  ['a/ /b', /without a name/],
  ['a\\b', /"\\"/],
  ['a\nb', /cannot be seen/],
  ['a\u202eb', /cannot be seen/],
  ['a\ud800b', /cannot be seen/],
  ['a./b', /dot or a space/],
  ['a /b', /dot or a space/],
  ['out/CON', /reserved name "CON"/],
  ['nul.txt/x', /reserved name/],
  ['x'.repeat(201), /more than 200 bytes/],
  [Array(50).fill('x'.repeat(30)).join('/'), /more than 900 bytes/],
])('%j is refused as a path', (path, why) => {
  expect(findPathError(path)).toMatch(why);
});

test.each(['a', '/', '/srv/reports', 'a/b/', '.hidden/x', 'a b/c', 'Zürich/2026-W46'])('%j is accepted', (path) => {
  expect(findPathError(path)).toBeUndefined();
});

test('a value in a path adds no folders and cannot leave its folder', () => {
  expect(fill('out/{{ title }}/x', 'KPIs: a/b')).toBe('out/KPIs- a-b/x');
  expect(fill('out/{{ period.label }}', '../../etc')).toBe('out/..-..-etc');
  expect(() => fill('out/{{ title }}', '..')).toThrow(expect.objectContaining({ code: 'deliver.target_refused' }));
});

const nasty = fc.oneof(
  fc.constantFrom(
    '..',
    '.',
    '/',
    '\\',
    '../',
    '..\\',
    '\0',
    '\n',
    'con',
    'NUL',
    '%2e%2e',
    '~',
    ' ',
    '\u202e',
    '\ud800',
    '{{',
    'a'.repeat(300),
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
);

test('with any value, the path is directly in its folder or is refused', () => {
  fc.assert(
    fc.property(fc.array(nasty, { maxLength: 6 }), (parts) => {
      let path: string;
      try {
        path = fill('reports/{{ title }}/{{ period.label }}.csv', parts.join(''));
      } catch (error) {
        expect(error).toBeInstanceOf(DocketError);
        expect(error).toMatchObject({ code: 'deliver.target_refused' });
        return;
      }
      expect(posix.normalize(path)).toBe(path);
      expect(path.split('/')).toHaveLength(3);
      expect(path.startsWith('reports/')).toBe(true);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
      expect(path).not.toMatch(/[\u0000-\u001f\u202a-\u202e\\]/);
    }),
    cases(10_000),
  );
});

test('an unchecked template cannot leave its folder either', () => {
  fc.assert(
    fc.property(fc.array(nasty, { maxLength: 6 }), (parts) => {
      try {
        const path = fill(parts.join('/'), 'Weekly');
        expect(posix.join('/root', path)).toMatch(/^\/root(\/|$)/);
      } catch (error) {
        expect(error).toBeInstanceOf(DocketError);
      }
    }),
    cases(10_000),
  );
});

test('a safe file name is valid in a path', () => {
  fc.assert(
    fc.property(fc.array(nasty, { maxLength: 6 }), (parts) => {
      expect(findPathError(`a/${safeFileName(parts.join(''), '.xlsx')}`)).toBeUndefined();
    }),
    cases(10_000),
  );
});
