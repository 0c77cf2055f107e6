import PostalMime from 'postal-mime';
import { expect, test } from 'vitest';
import { safeFileName } from '../../../src/base/files/safe-path.ts';
import { cutAtWord } from '../../../src/base/text/cut-text.ts';
import { buildEmail } from '../../../src/deliver/targets/email/email-message.ts';

test.each([
  ['a figure', 'Profiles created: 34,300', 22, 'Profiles created…'],
  ['a figure with a no-break space', 'Profiles created: 34\u00a0300 now', 23, 'Profiles created…'],
  ['a text that is one figure', '123456789', 5, '…'],
  ['a grapheme', '👩‍👩‍👧‍👧👩‍👩‍👧‍👧👩‍👩‍👧‍👧', 30, '👩‍👩‍👧‍👧👩‍👩‍👧‍👧…'],
  ['a figure in Arabic digits', `${'x'.repeat(10)}٣٤٬٣٠٠`, 15, `${'x'.repeat(10)}…`],
  ['a figure in Devanagari digits', `${'x'.repeat(10)}३४,३००`, 15, `${'x'.repeat(10)}…`],
  ['a figure in full-width digits', `${'x'.repeat(10)}３４，３００．５`, 15, `${'x'.repeat(10)}…`],
  ['a figure with a minus', `${'x'.repeat(10)}−12,345`, 15, `${'x'.repeat(10)}…`],
  ['a word, unless the text has hardly any spaces', `Note: ${'東'.repeat(300)}`, 200, `Note: ${'東'.repeat(193)}…`],
  ['a text within the limit', 'Profiles created: 34,300', 24, 'Profiles created: 34,300'],
  ['a word that ends at the limit', 'one two three', 8, 'one two…'],
])('cutting a text at a word does not cut %s', (_, text, max, expected) => {
  expect(cutAtWord(text, max)).toBe(expected);
});

test('a long subject is cut between words', async () => {
  for (let at = 0; at < 40; at += 1) {
    const subject = `${'x'.repeat(160 + at)} created: 34,300 more words to cut ${'y'.repeat(40)}`;
    const { raw } = await buildEmail({
      delivery: 'd',
      run: 'r',
      from: 'docket@acme.example',
      list: { org: 'acme', report: 'weekly' },
      to: 'a@acme.example',
      subject,
      text: 'x',
      attachments: [],
      date: new Date(0),
    });
    const kept = ((await PostalMime.parse(raw)).subject ?? '').replace(/…$/u, '');
    expect(kept.length).toBeLessThan(200);
    expect(subject.startsWith(kept)).toBe(true);
    expect(subject.slice(kept.length)).toMatch(/^[: ]/);
  }
});

test('a sender with one long figure as the name is shown without a name', async () => {
  const { raw } = await buildEmail({
    delivery: 'd',
    run: 'r',
    from: 'docket@acme.example',
    fromName: '1234567890'.repeat(30),
    list: { org: 'acme', report: 'weekly' },
    to: 'a@acme.example',
    subject: 'x',
    text: 'x',
    attachments: [],
    date: new Date(0),
  });
  expect((await PostalMime.parse(raw)).from).toEqual({ address: 'docket@acme.example', name: '' });
});

test('a file name loses a long figure at its start', () => {
  expect(safeFileName(`${'1234567890'.repeat(15)} profiles`, '.xlsx')).toBe('profiles.xlsx');
  expect(safeFileName('1234567890'.repeat(15), '.xlsx')).toBe('report.xlsx');
});

test('a long file name does not end inside a figure', () => {
  const stem = `${'word '.repeat(40)}`.slice(0, 110);
  for (let at = 0; at < 20; at += 1)
    expect(safeFileName(`${stem}${'a'.repeat(at)} 34300`, '.xlsx')).not.toMatch(/[^0](3|34|343|3430)\.xlsx$/);
});

test.each(['\u00a0', '\u202f'])('a file name is not cut inside a figure with a no-break space', (space) => {
  const stem = `${'word '.repeat(21)}34${space}300`;
  expect(safeFileName(stem, '.xlsx')).toBe(`${'word '.repeat(21)}34 300.xlsx`);
  for (let at = 0; at < 12; at += 1)
    expect(safeFileName(`${'a'.repeat(at)}${stem}`, '.xlsx')).toMatch(/word( 34 300)?\.xlsx$/);
});
