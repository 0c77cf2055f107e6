import fc from 'fast-check';
import { expect, test } from 'vitest';
import { maskSecrets, sourceExcerpt } from '../../../../src/cli/commands/reports/source-excerpt.ts';
import { cases } from '../../../support/fuzz.ts';

const excerpt = (line: string, part: string, width = 40) => {
  const column = line.indexOf(part) + 1;
  const { source, caret } = sourceExcerpt({ line, column, end: column + part.length, width });
  return { source, caret, marked: [...source].slice(caret.indexOf('^'), caret.length).join('') };
};

test('an excerpt marks the part of the line', () => {
  expect(excerpt('  title: Weekly', 'Weekly')).toEqual({
    source: '  title: Weekly',
    caret: '         ^^^^^^',
    marked: 'Weekly',
  });
});

test('an excerpt shortens a long line around the part', () => {
  const line = `${'a'.repeat(100)} here ${'b'.repeat(100)}`;
  const { source, marked } = excerpt(line, 'here');
  expect(marked).toBe('here');
  expect(source).toHaveLength(40);
  expect([source.at(0), source.at(-1)]).toEqual(['…', '…']);
  const atEnd = excerpt(`${'a'.repeat(100)} end`, 'end');
  expect(atEnd).toMatchObject({ marked: 'end', source: expect.stringMatching(/^…•{30,} end$/u) });
});

test('an excerpt shows a tab, and no control characters', () => {
  expect(excerpt('\tid: x', 'id')).toMatchObject({ source: '→id: x', marked: 'id' });
  expect(excerpt('a\u001b[2J\u202eb', 'b')).toMatchObject({ source: 'a·[2J·b', marked: 'b' });
});

test('an excerpt counts a wide character as two columns', () => {
  expect(excerpt('名: x', 'x')).toMatchObject({ caret: '    ^' });
});

test.each([
  ['api_key: sbx_acme.8FJzfA_Zpsh3KHGZKk_ZkrztVNRMoZxB'],
  ['{ password: hunter2hunter2, x: 1 }'],
  ['url: "smtps://me:hunter2@mail.example"'],
  ['search: Bearer abcdefghijkl'],
])('an excerpt masks the secret of %s', (line) => {
  const masked = maskSecrets(line);
  expect(masked).toHaveLength(line.length);
  expect(masked).not.toMatch(/8FJzfA|hunter2|abcdefgh/);
});

test('an excerpt fits the width, and the mark begins inside, for any line', () => {
  const input = fc.record({
    line: fc.string({ unit: 'binary', maxLength: 200 }).filter((line) => !line.includes('\n')),
    column: fc.integer({ min: 1, max: 220 }),
    length: fc.integer({ min: 0, max: 50 }),
    width: fc.integer({ min: 20, max: 90 }),
  });
  const wide = (text: string) => (text.match(/[^\u0020-\u007e\u00a0-\u02ff→·…]/gu) ?? []).length;
  fc.assert(
    fc.property(input, ({ line, column, length, width }) => {
      const { source, caret } = sourceExcerpt({ line, column, end: column + length, width });
      expect([...source].length).toBeLessThanOrEqual(width);
      expect(caret).toMatch(/^ *\^+$/);
      expect(caret.indexOf('^')).toBeLessThanOrEqual([...source].length + wide(source));
    }),
    cases(1000),
  );
});
