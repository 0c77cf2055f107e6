import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import DataStream from 'nodemailer/lib/smtp-connection/data-stream';
import { expect, test } from 'vitest';
import { transparentBody } from '../../../../../src/deliver/targets/email/smtp/smtp-mailer.ts';

const bodyOf = (text: string): string => Buffer.from(transparentBody(Buffer.from(text, 'latin1'))).toString('latin1');

test.each([
  ['', ''],
  ['\r\n', ''],
  ['a\r\nb\r\n', 'a\r\nb'],
  ['a\r\nb', 'a\r\nb'],
  ['.a\r\n..b\r\nc.\r\n.\r\n', '..a\r\n...b\r\nc.\r\n..'],
  ['.\r\n', '..'],
  ['.', '..'],
  ['\na', '\r\na'],
  ['.a\n.b', '..a\r\n..b'],
  ['a\n.\nb', 'a\r\n..\r\nb'],
  ['a\r.\rb\r', 'a\r\n..\r\nb'],
])('%j is sent as %j', (text, expected) => {
  expect(bodyOf(text)).toBe(expected);
});

test('a body and the DATA terminator are the same bytes as from nodemailer’s encoder', async () => {
  const text = fc.array(fc.constantFrom('\r', '\n', '.', 'a', '\r\n', '\r\n.', 'Hello'), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(text, async (parts) => {
      const raw = parts.join('');
      const encoder = new DataStream();
      encoder.end(Buffer.from(raw));
      expect(`${bodyOf(raw)}\r\n.\r\n`).toBe((await buffer(encoder)).toString());
    }),
  );
});
