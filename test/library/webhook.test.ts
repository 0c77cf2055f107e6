import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../src/base/secrets/secret.ts';
import { parseWebhookSecret, signatureHeaders } from '../../src/deliver/targets/webhook/webhook-message.ts';
import { verifyWebhook, WebhookError } from '../../src/library/webhook.ts';

const NOW = Date.parse('2026-11-16T07:00:05.000Z');
const secretOf = (fill: number) => `whsec_${Buffer.alloc(32, fill).toString('base64')}`;
const SECRET = secretOf(1);
const signed = (body: string, secret = SECRET, at = NOW) =>
  signatureHeaders('msg-1', at, body, parseWebhookSecret(new Secret(secret)));

/** The code of the refusal, or the id. */
function verify(...args: Parameters<typeof verifyWebhook>): string {
  try {
    return verifyWebhook(...args);
  } catch (thrown) {
    if (thrown instanceof WebhookError) return thrown.code;
    throw thrown;
  }
}

describe('verifyWebhook', () => {
  test('returns the id of every message that Docket signed, whatever its body', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (body) => {
        expect(verify(signed(body), body, SECRET, NOW)).toBe('msg-1');
        expect(verify(new Headers(signed(body)), Buffer.from(body), [secretOf(2), SECRET], NOW)).toBe('msg-1');
      }),
    );
  });

  test.for([
    ['a changed body', signed('{}'), '{ }', SECRET, 'signature.invalid'],
    ['another secret', signed('{}'), '{}', secretOf(2), 'signature.invalid'],
    ['another id', { ...signed('{}'), 'webhook-id': 'msg-2' }, '{}', SECRET, 'signature.invalid'],
    ['no signature', { ...signed('{}'), 'webhook-signature': '' }, '{}', SECRET, 'header.missing'],
    ['an unknown version', { ...signed('{}'), 'webhook-signature': 'v2,AAAA' }, '{}', SECRET, 'signature.invalid'],
    ['a time that is no number', { ...signed('{}'), 'webhook-timestamp': 'x' }, '{}', SECRET, 'timestamp.outside'],
    ['a secret without its prefix', signed('{}'), '{}', SECRET.slice(6), 'secret.invalid'],
    ['a message of 301 seconds ago', signed('{}', SECRET, NOW - 301_000), '{}', SECRET, 'timestamp.outside'],
    ['a message of 301 seconds ahead', signed('{}', SECRET, NOW + 301_000), '{}', SECRET, 'timestamp.outside'],
  ] as const)('refuses %s', ([, headers, body, secret, code]) => {
    expect(verify(headers, body, secret, NOW)).toBe(code);
  });

  test('accepts a message that is five minutes old', () => {
    expect(verify(signed('{}', SECRET, NOW - 300_000), '{}', SECRET, NOW)).toBe('msg-1');
  });
});
