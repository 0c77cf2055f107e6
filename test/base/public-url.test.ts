import { expect, test } from 'vitest';
import { readConfig } from '../../src/base/config/config.ts';
import { parseMailSender } from '../../src/base/config/mail-sender.ts';
import { parsePublicUrl, runPageUrl } from '../../src/base/config/public-url.ts';

test('a public URL keeps its path without the trailing slash', () => {
  expect(parsePublicUrl('https://docket.example.com/')).toEqual({ url: 'https://docket.example.com' });
  expect(parsePublicUrl('https://tools.example.com/docket/')).toEqual({ url: 'https://tools.example.com/docket' });
  expect(runPageUrl('https://docket.example.com', 'ab')).toBe('https://docket.example.com/runs/ab');
  expect(runPageUrl(undefined, 'ab')).toBeUndefined();
});

test.each(['docket.example.com', 'ftp://a.example', 'https://a.example/?x=1', 'https://a.example/#x', 'javascript:0'])(
  'DOCKET_PUBLIC_URL refuses %s',
  (url) => {
    expect(() => readConfig({ DOCKET_PUBLIC_URL: url })).toThrow(/DOCKET_PUBLIC_URL/);
  },
);

test('a password in DOCKET_PUBLIC_URL is refused, and the error does not contain it', () => {
  const read = () => readConfig({ DOCKET_PUBLIC_URL: 'https://user:hunter2@a.example' });
  expect(read).toThrow(/DOCKET_PUBLIC_URL/);
  expect(read).not.toThrow(/hunter2/);
});

test.each([
  ['reports@acme.example', { address: 'reports@acme.example' }],
  ['Acme, AG <reports@acme.example>', { name: 'Acme, AG', address: 'reports@acme.example' }],
  ['"Acme AG" <reports@acme.example>', { name: 'Acme AG', address: 'reports@acme.example' }],
  ['<reports@acme.example>', { address: 'reports@acme.example' }],
  ['Acme\r\nBcc: x <reports@acme.example>', undefined],
  ['Acme <a@b.example> <reports@acme.example>', undefined],
  ['Acme', undefined],
])('the sender %j in MAIL_FROM is read or refused', (text, sender) => {
  expect(parseMailSender(text)).toEqual(sender);
});
