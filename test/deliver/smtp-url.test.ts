import { expect, test } from 'vitest';
import { Secret } from '../../src/base/secret.ts';
import { readSmtpUrl, smtpService } from '../../src/deliver/smtp-url.ts';

const read = (url: string) => {
  const { pass, ...rest } = readSmtpUrl(new Secret(url));
  return { ...rest, pass: pass?.reveal() };
};

test('smtp: is the submission port, with STARTTLS where the server has it', () => {
  expect(read('smtp://mail.example')).toEqual({
    host: 'mail.example',
    port: 587,
    secure: false,
    tls: 'offered',
    pass: undefined,
  });
});

test('a server is named by its host, its port and the login, without a password', () => {
  const url = new Secret('smtp://me:hunter2@mail.example');
  expect(smtpService(url, '0123456789abcdef')).toBe('mail mail.example:587 01234567');
});

test('smtps: is TLS from the first byte', () => {
  expect(read('smtps://me%40acme.example:p%3Aw@mail.example')).toMatchObject({
    port: 465,
    secure: true,
    user: 'me@acme.example',
    pass: 'p:w',
  });
});

test('a password makes STARTTLS required, except on this machine or when it is said otherwise', () => {
  expect(read('smtp://me:pw@mail.example').tls).toBe('required');
  expect(read('smtp://me:pw@127.0.0.1:2525')).toMatchObject({ tls: 'offered', port: 2525 });
  expect(read('smtp://me:pw@[::1]:2525')).toMatchObject({ tls: 'offered', host: '::1' });
  expect(read('smtp://me:pw@mail.example?tls=off').tls).toBe('off');
});
