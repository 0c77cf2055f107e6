import { expect, test } from 'vitest';
import { Secret } from '../../../../../src/base/secrets/secret.ts';
import { parseSmtpUrl, smtpServiceName } from '../../../../../src/deliver/targets/email/smtp/smtp-url.ts';

const read = (url: string) => {
  const { pass, ...rest } = parseSmtpUrl(new Secret(url));
  return { ...rest, pass: pass?.reveal() };
};

test('an smtp: URL uses the submission port, with STARTTLS if offered', () => {
  expect(read('smtp://mail.example')).toEqual({
    host: 'mail.example',
    port: 587,
    secure: false,
    tls: 'offered',
    pass: undefined,
  });
});

test('the name of a mail service has host, port and a fingerprint of the login', () => {
  const url = new Secret('smtp://me:hunter2@mail.example');
  expect(smtpServiceName(url, '0123456789abcdef')).toBe('mail mail.example:587 01234567');
});

test('an smtps: URL uses implicit TLS', () => {
  expect(read('smtps://me%40acme.example:p%3Aw@mail.example')).toMatchObject({
    port: 465,
    secure: true,
    user: 'me@acme.example',
    pass: 'p:w',
  });
});

test('a password requires STARTTLS, except on loopback hosts or with tls=off', () => {
  expect(read('smtp://me:pw@mail.example').tls).toBe('required');
  expect(read('smtp://me:pw@127.0.0.1:2525')).toMatchObject({ tls: 'offered', port: 2525 });
  expect(read('smtp://me:pw@[::1]:2525')).toMatchObject({ tls: 'offered', host: '::1' });
  expect(read('smtp://me:pw@mail.example?tls=off').tls).toBe('off');
});
