import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

/** The limit for hand-written user documentation, README files included. Code and command output are not counted. */
const MOST_WORDS = 15_000;
const MOST_README_WORDS = 750;
/** Flesch reading ease: 60 to 70 is plain English, below 50 is difficult. */
const LEAST_EASE = 55;

const wordsOf = (text: string): string[] => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));

/** The sentences of a page: no code, tables, headings, pictures or addresses. */
const prose = (page: string): string =>
  page
    .replace(/^(```+)[\s\S]*?^\1$/gm, '\n')
    .replace(/^\|.*$/gm, '')
    .replace(/^#.*$/gm, '')
    .replace(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    // A name in code counts as one word.
    .replace(/`[^`\n]*`/g, 'code')
    .replace(/<[^>\n]+>/g, '')
    .replace(/[*_]/g, '')
    .replace(/^\s*(?:[-*]|\d+\.) /gm, '')
    .replace(/\n{2,}/g, '.\n');

/** The usual estimate: groups of vowels, without a silent final "e". */
function syllablesOf(word: string): number {
  const letters = word.toLowerCase().replace(/[^a-z]/g, '');
  const groups = letters
    .replace(/(?:[^laeiouy]es|[^td]ed|[^laeiouy]e)$/, (end) => end[0] ?? '')
    .match(/[aeiouy]{1,2}/g);
  return Math.max(1, groups?.length ?? 0);
}

function fleschReadingEase(text: string): number {
  const sentences = text.split(/[.!?:;]+(?:\s|$)/).filter((sentence) => wordsOf(sentence).length > 0);
  const words = wordsOf(text);
  const syllables = words.reduce((sum, word) => sum + syllablesOf(word), 0);
  return 206.835 - 1.015 * (words.length / sentences.length) - 84.6 * (syllables / words.length);
}

/** The hand-written pages for users. */
async function userPages(): Promise<string[]> {
  const names = (await readdir('docs', { recursive: true })).filter((name) => name.endsWith('.md'));
  // `dependencies.md` is for engineers, like the internals.
  const pages = names
    .filter((name) => !/^(?:internals\/|dependencies\.md)/.test(name))
    .map((name) => join('docs', name))
    .concat('README.md', 'templates/README.md');
  const texts = await Promise.all(pages.map((page) => readFile(page, 'utf8')));
  return pages.filter((_, index) => !texts[index]?.includes('<!-- Generated')).sort();
}

const count = async (page: string): Promise<number> =>
  wordsOf((await readFile(page, 'utf8')).replace(/^ *(```+)[\s\S]*?^ *\1$/gm, '')).length;

describe('the documentation', () => {
  test('stays within its word limits', async () => {
    const pages = await userPages();
    const counts = await Promise.all(pages.map(count));
    const sum = counts.reduce((all, words) => all + words, 0);
    expect(sum, pages.map((page, index) => `${counts[index]} ${page}`).join('\n')).toBeLessThanOrEqual(MOST_WORDS);
    expect(await count('README.md')).toBeLessThanOrEqual(MOST_README_WORDS);
  });

  test.each(['README.md', 'docs/tutorials/first-report.md', 'docs/tutorials/first-board-pack.md'])(
    '%s is easy to read',
    async (page) => {
      expect(fleschReadingEase(prose(await readFile(page, 'utf8')))).toBeGreaterThanOrEqual(LEAST_EASE);
    },
  );

  test('is measured by a formula that tells plain English from difficult English', () => {
    expect(fleschReadingEase('The cat sat on the mat. It was a warm day, and the dog ran home.')).toBeGreaterThan(90);
    expect(
      fleschReadingEase(
        'Organizational responsibilities necessitate comprehensive documentation of interdependencies.',
      ),
    ).toBeLessThan(0);
  });
});
