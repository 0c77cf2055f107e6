import { createHash, generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DocketError, toDocketError } from '../../../src/base/error.ts';
import { stderrLog } from '../../../src/base/log.ts';
import { createRedactor, redactUntrusted } from '../../../src/base/secrets/redactor.ts';
import { secretForms } from '../../../src/base/secrets/secret-forms.ts';
import { secretIndex } from '../../../src/base/secrets/secret-index.ts';
import { cases } from '../../support/fuzz.ts';
import { encodingsFoundIn, encodingsOf } from '../../support/secret-encodings.ts';

const SECRETS = {
  'a password': 'p4ss/w+rd"<&=%41 é\'!',
  'an API key': 'sbx_acme.Kq3-vT_9xZ2mLr8WbN5yHc7DfGjP0sAe',
  'a webhook secret': 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  'a URL': 'https://hooks.example/services/T0K3N/B1/Zk39vQpL?sig=9aX',
  'a private key': String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })).trim(),
  'an access token': `ya29.${'aB3_-'.repeat(60)}`,
} as const;

const CASES = Object.entries(SECRETS).flatMap(([what, secret]) =>
  Object.keys(encodingsOf(secret)).map((encoding) => ({ what, encoding, secret })),
);

test.each(CASES)('$what is redacted when encoded as $encoding', ({ secret, encoding }) => {
  const { registerSecret, redact } = createRedactor();
  registerSecret(secret);
  const echo = encodingsOf(secret)[encoding] ?? '';
  for (const text of [echo, `You said "${echo}", and no.`, `x${echo}x`]) {
    expect(encodingsFoundIn(redact(text), secret)).toEqual([]);
    expect(redact(text)).toContain('[secret]');
  }
});

test('the text around a secret is unchanged', () => {
  const { registerSecret, redact } = createRedactor();
  registerSecret(SECRETS['an API key']);
  expect(redact(`HTTP 422: é "${SECRETS['an API key']}" %20 is refused.\r\n`)).toBe(
    'HTTP 422: é "[secret]" %20 is refused.\r\n',
  );
  expect(redact('a%2Fb &amp; "c" =41 \\u0041')).toBe('a%2Fb &amp; "c" =41 \\u0041');
});

test('the start of a secret is redacted from 16 characters, and where a text is cut off from 8 characters', () => {
  const secret = SECRETS['an API key'];
  const { registerSecret, redact } = createRedactor();
  registerSecret(secret);
  for (let length = 8; length <= secret.length; length += 1) {
    const part = secret.slice(0, length);
    for (const text of [`key ${part}`, `key ${part}… no`, `key ${part}***`, `key ${part}... no`]) {
      expect(redact(text)).not.toContain(part);
    }
    expect(redact(`key "${part}" no`).includes(part)).toBe(length < 16);
  }
  expect(redact(`key ${secret.slice(0, 7)}`)).toBe(`key ${secret.slice(0, 7)}`);
  const plain = Buffer.from(`\0someone\0${secret}`).toString('base64');
  expect(encodingsFoundIn(redact(`535 AUTH PLAIN ${plain.slice(0, -20)}`), secret)).toEqual([]);
});

test('path and password of a secret URL are redacted, but not its host', () => {
  const { registerSecret, redact } = createRedactor();
  registerSecret('https://me:pa55w0rd@hooks.example/services/T0K3N');
  expect(redact('https://hooks.example and https://hooks.exa')).toBe('https://hooks.example and https://hooks.exa');
  expect(redact('POST /services/T0K3N pa55w0rd')).toBe('POST [secret] [secret]');
});

test('rotated secrets are still redacted, but only the newest tokens', () => {
  const { registerSecret, redact } = createRedactor();
  registerSecret('the first key');
  registerSecret('the other key');
  for (let n = 0; n < 1_000; n += 1) registerSecret(`token-${n}-of-many`, 'token');
  expect(redact('the first key, the other key, token-999-of-many')).toBe('[secret], [secret], [secret]');
  expect(redact('token-0-of-many')).toBe('token-0-of-many');
});

test('a secret of fewer than six characters is not redacted, because it could be a word', () => {
  const { registerSecret, redact } = createRedactor();
  registerSecret('hello');
  expect(redact('hello')).toBe('hello');
});

test.each([
  ['Authorization: Bearer abcdefghijklmnop0', 'Authorization: Bearer [secret]'],
  ['Basic authentication is required', 'Basic authentication is required'],
  ['https://b.example/k?X-Amz-Signature=0123456789abcdef0123', 'https://b.example/k?X-Amz-Signature=[secret]'],
  ['{"access_token":"0123456789abcdef"}', '{"access_token":"[secret]"}'],
  ['Set-Cookie: docket=abc; Path=/\r\nx', 'Set-Cookie: [secret]\r\nx'],
  ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln is a token', '[secret] is a token'],
  [`docket_${'a'.repeat(43)}`, '[secret]'],
  ['-----BEGIN PRIVATE KEY-----\nMC4C', '[secret]'],
])('credentials are recognized by their format: %j', (text, reported) => {
  expect(createRedactor().redact(text)).toBe(reported);
});

test('a secret is redacted in any surrounding text', () => {
  const secret = SECRETS['a password'];
  const { registerSecret, redact } = createRedactor();
  registerSecret(secret);
  const around = fc.string({ unit: 'binary', maxLength: 40 });
  const echoes = fc.constantFrom(...Object.values(encodingsOf(secret)));
  fc.assert(
    fc.property(around, echoes, around, (before, echo, after) => {
      expect(redact(`${before} ${echo} ${after}`)).toContain('[secret]');
    }),
    cases(500),
  );
});

test.each(CASES)('a log line never has $what as $encoding, in a text or in an error and its cause', (each) => {
  const { registerSecret, redact } = createRedactor();
  registerSecret(each.secret);
  const echo = encodingsOf(each.secret)[each.encoding] ?? '';
  const lines: string[] = [];
  const log = stderrLog('info', { redact, write: (line) => void lines.push(line) });
  const cause = new Error(`peer: ${echo}`, { cause: new AggregateError([new Error(echo)], echo) });
  for (const error of [
    new DocketError('api.refused', `No: ${echo}.`, { got: echo, where: echo, expected: echo, next: echo, cause }),
    toDocketError(cause),
  ])
    log.error(`It says "${echo}"`, { why: `(${echo})`, error: error.toJSON() });
  expect(lines).toHaveLength(2);
  for (const line of lines) {
    expect(line).toContain('[secret]');
    // The raw line, and the texts after parsing its JSON.
    const read: object = JSON.parse(line);
    const texts = Object.values({ ...read, error: '', ...('error' in read ? Object(read.error) : {}) }).map(String);
    expect([line, ...texts].flatMap((text) => encodingsFoundIn(text, each.secret))).toEqual([]);
  }
});

test('redaction of a hundred secrets ends soon even for texts made to be slow', () => {
  const { registerSecret, redact } = createRedactor();
  const secrets = Array.from({ length: 100 }, (_, n) => createHash('sha512').update(String(n)).digest('base64'));
  for (const secret of secrets) registerSecret(secret);
  const [first = ''] = secrets;
  const units = ['%', '%61', '&#97;', 'eyJ-', 'a.', '\\u0061', '=', '-----BEGIN PRIVATE KEY-----', '\r\n', 'sig='];
  for (const unit of [first, first.slice(0, 7), first.slice(0, 15), ...units]) {
    // A quadratic algorithm would take minutes.
    expect(redact(unit.repeat(Math.ceil((1 << 18) / unit.length))).includes(first)).toBe(false);
  }
});

const manyKeys = (count: number) =>
  Array.from({ length: count }, (_, n) => `compliance_live_${n}aB3xY.${'q7'.repeat(15)}${n}`);
const base64 = (text: string) => Buffer.from(text).toString('base64');

test.each([
  ['keys with a common prefix', manyKeys(300), 'compliance_live_'],
  ['keys with a common prefix, in base64', manyKeys(300), base64('compliance_live_x')],
  ['a key itself, in base64', manyKeys(300), base64(manyKeys(1)[0] ?? '')],
  ['a secret that repeats one character', ['a'.repeat(90)], 'a'],
  ['a secret that repeats one character, in base64', ['a'.repeat(90)], base64('aaa')],
])('the work for a text made to be slow is linear in its length: %s', (_what, secrets, unit) => {
  const text = unit.repeat(Math.ceil(65_536 / unit.length));
  const index = secretIndex();
  for (const secret of secrets) index.add(secretForms(secret));
  const work = { steps: 0 };
  const found = index.find(text, work);
  expect(found.length).toBeGreaterThan(0);
  // Twice the longest form, plus the logarithm of the number of forms, but not proportional to their number.
  expect(work.steps / text.length).toBeLessThan(220);
  for (const [n, [start]] of found.entries()) expect(start).toBeGreaterThan(found[n - 1]?.[1] ?? -1);
});

test('overlapping secrets are redacted together', () => {
  const { registerSecret, redact } = createRedactor();
  for (const secret of ['first:second', 'second:third', 'ab'.repeat(9).concat('Z')]) registerSecret(secret);
  expect(redact('first:second:third, no')).toBe('[secret], no');
  expect(redact(`ab${'ab'.repeat(9)}Z, no`)).toBe('[secret], no');
});

test('an untrusted text is cut only after its secrets are redacted', () => {
  const { registerSecret, redact } = createRedactor();
  const secret = SECRETS['an API key'];
  registerSecret(secret);
  for (const echo of [secret, base64(secret)]) {
    for (const cut of [8 * 1024, 10 * 1024]) {
      for (let start = cut - echo.length - 10; start < cut + 10; start += 3) {
        const said = redactUntrusted(`${'- '.repeat(cut).slice(0, start)}${echo}${' -'.repeat(40_000)}`, redact);
        expect(said.length).toBeLessThan(10 * 1024 + 9);
        expect(said.replaceAll('[secret]', '')).toMatch(/^[- ]*\[?[secrt]*$/);
      }
    }
  }
});

test('in received data only complete secrets and the secret half of a key are redacted', () => {
  const { registerSecret, redact } = createRedactor({ shapes: false, partial: false });
  const secret = SECRETS['an API key'];
  registerSecret(secret);
  for (let length = 1; length < secret.length; length += 1) {
    const part = secret.slice(0, length);
    expect(redact(part)).toBe(part);
  }
  expect(redact(`${secret} ${secret.slice('sbx_acme.'.length)} ${base64(secret)}`)).toBe('[secret] [secret] [secret]');
});
