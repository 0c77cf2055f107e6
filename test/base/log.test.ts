import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DocketError } from '../../src/base/error.ts';
import { childLog, type Log, type LogFields, stderrLog } from '../../src/base/log.ts';
import { createRedactor, passwordsIn } from '../../src/base/secrets/redactor.ts';
import { formatPretty, supportsColor } from '../../src/base/text/log-pretty.ts';
import { cases } from '../support/fuzz.ts';

/** A log like that of a process, whose lines are collected. */
function aLog(options: { readonly level?: string; readonly redact?: (text: string) => string } = {}) {
  const lines: string[] = [];
  const { level = 'debug', ...rest } = options;
  const log = stderrLog(level, { ...rest, write: (line) => void lines.push(line) });
  return { log, lines, last: (): Record<string, unknown> => JSON.parse(lines.at(-1) ?? '') };
}

test('a line has level, time, message and only the allowed fields', () => {
  const { log, last } = aLog();
  const slipped: object = { api_key: 'k3y', headers: { authorization: 'Api-Key k3y' }, why: { secret: 'k3y' } };
  log.warn('Said', { run: 'r', count: 3, ...slipped });
  expect(last()).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    msg: 'Said',
    run: 'r',
    count: 3,
  });
});

test('an error is logged with its texts, without stack, cause and other properties', () => {
  const { log, last } = aLog();
  const error = new DocketError('api.refused', 'No.', { got: 'x', correlationId: 'c-1', cause: new Error('k3y') });
  const json: object = { ...error.toJSON(), cause: 'k3y', headers: { cookie: 'k3y' }, next: 7 };
  log.error('Failed', { ...{ error: error.toJSON() }, ...{ error: json as never } });
  expect(last().error).toEqual({ code: 'api.refused', message: 'No.', got: 'x', correlation_id: 'c-1' });
});

test('control characters in a text are escaped, in JSON and in pretty format', () => {
  const { log, lines, last } = aLog();
  log.info('a\n{"level":"error"}\u001b[2Jb\u009b1mc\u202ed\u2028e', { why: 'f\r\ng' });
  expect(lines).toHaveLength(1);
  expect(last()).toMatchObject({
    msg: 'a\\n{"level":"error"}\\u001b[2Jb\\u009b1mc\\u202ed\\u2028e',
    why: 'f\\r\\ng',
  });
  const shown = formatPretty(lines[0] ?? '', false);
  expect(shown.match(/[\p{Cc}\u202e\u2028]/gu)).toEqual(['\n']);
});

test('a URL is written without user, password, query and fragment', () => {
  const { log, last } = aLog();
  log.info('From https://u:p%40ss@h.example:8443/a/b?token=k3y#frag to redis://:k3y@h/0, then s3://bucket/key', {
    url: 'postgres://me:k3y@h',
    why: 'see <https://h/x?sig=k3y>',
  });
  expect(last()).toMatchObject({
    msg: 'From https://h.example:8443/a/b?… to redis://h/0, then s3://bucket/key',
    url: 'postgres://h',
    why: 'see <https://h/x?…>',
  });
});

test('a text of more than a thousand characters is cut, but never inside a character', () => {
  const { log, last } = aLog();
  log.info('x'.repeat(5_000), { why: `${'y'.repeat(999)}😀z` });
  expect(String(last().msg)).toBe(`${'x'.repeat(1_000)}…`);
  expect(String(last().why)).toBe(`${'y'.repeat(999)}…`);
});

test('a secret that the process has read is redacted raw, in URLs, in JSON and in its single lines', () => {
  const { registerSecret, redact } = createRedactor();
  const { log, last } = aLog({ redact });
  for (const secret of ['s3cr3t/with+signs', 'a"quoted"one', 'BEGIN KEY\nMIIEabcdef\nEND KEY', 'word'])
    registerSecret(secret);
  registerSecret('smtps://me:pass%2Fphrase@mail.example');
  log.error('s3cr3t/with+signs and s3cr3t%2Fwith%2Bsigns', {
    why: '{"x":"a\\"quoted\\"one"} MIIEabcdef pass/phrase pass%2Fphrase a word',
    error: { code: 'internal.defect', message: `${'x'.repeat(990)}s3cr3t/with+signs` },
  });
  expect(last()).toMatchObject({
    msg: '[secret] and [secret]',
    why: '{"x":"[secret]"} [secret] [secret] [secret] a word',
    error: { message: `${'x'.repeat(990)}[secret]` },
  });
});

test.each([
  ['redis://:p%40ss@h/0', ['p%40ss', 'p@ss']],
  ['smtps://user:pw@mail.example:465', ['pw', 'pw']],
  ['redis+sentinel://a:b@h1,h2/m?sentinel_username=x&sentinel_password=c', ['b', 'b', 'c', 'c']],
  ['redis://127.0.0.1:6379', []],
  ['https://host:443/a@b', []],
])('the passwords of %s are %j', (url, passwords) => {
  expect(passwordsIn(url)).toEqual(passwords);
});

test('a child log adds its fields to each line; a line can override them, and a function is called each time', () => {
  const { log, last } = aLog();
  const own = childLog(log, { run: 'r', org: 'acme', report: 'weekly' });
  own.info('One', { stage: 'fetch' });
  expect(last()).toMatchObject({ msg: 'One', run: 'r', org: 'acme', report: 'weekly', stage: 'fetch' });
  let count = 0;
  const counting = childLog(own, () => {
    count += 1;
    return { count };
  });
  counting.warn('Two', { report: 'daily' });
  counting.warn('Three');
  expect(last()).toMatchObject({ msg: 'Three', run: 'r', report: 'weekly', count: 2 });
});

test('lines below the level are not written', () => {
  const { log, lines } = aLog({ level: 'warn' });
  log.debug('a');
  log.info('b');
  log.warn('c');
  log.error('d');
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['c', 'd']);
});

test('the pretty format has time, level, message and fields on one line, and the error below', () => {
  const { log, lines } = aLog();
  log.error('Run failed permanently', {
    run: 'r1',
    why: 'two words',
    error: { code: 'api.refused', message: 'No.', next: 'Ask.' },
  });
  const [first, ...below] = formatPretty(lines[0] ?? '', false).split('\n');
  expect(first).toMatch(/^\d\d:\d\d:\d\d\.\d{3}Z ERROR Run failed permanently {2}run=r1 why="two words"$/);
  expect(below).toEqual(['    api.refused No.', '    next: Ask.', '']);
  expect(formatPretty(lines[0] ?? '', true)).toContain('\u001b[31mERROR\u001b[0m');
});

test.each([
  [{}, true, true],
  [{}, false, false],
  [{ NO_COLOR: '1' }, true, false],
  [{ NO_COLOR: '' }, true, true],
  [{ FORCE_COLOR: '1' }, false, true],
  [{ FORCE_COLOR: '0' }, true, false],
  [{ TERM: 'dumb' }, true, false],
  [{ NO_COLOR: '1', FORCE_COLOR: '1' }, true, false],
])('with %j on a terminal: %s, colours are used: %s', (env, terminal, expected) => {
  expect(supportsColor(env, terminal)).toBe(expected);
});

const CANARY = 'zq-canary-5ecret';

/** Any text that contains the canary. */
const planted = fc
  .tuple(fc.string({ unit: 'grapheme' }), fc.string())
  .map(([before, after]) => before + CANARY + after);
const anything = fc.anything({ withDate: true, withMap: true, withSet: true, withBigInt: true, withTypedArray: true });

/** Disallowed fields, as a cast, a spread or a mistake could add them, with the canary in names and shapes. */
const disallowed = fc.oneof(
  fc.record({ headers: fc.record({ authorization: planted }), api_key: planted, recipient: planted }),
  fc.dictionary(
    fc.string().map((name) => `x_${name}`),
    fc.oneof(planted, anything),
  ),
  fc.record({
    error: fc.record({ code: fc.constant('internal.defect'), cause: planted, stack: planted, body: anything }),
  }),
  fc.record({ why: fc.oneof(fc.array(planted), fc.record({ toString: planted, toJSON: planted }), fc.tuple(planted)) }),
  fc.record({ run: fc.record({ id: planted }), status: fc.oneof(fc.array(planted), anything) }),
  fc.record({ url: planted.map((text) => `https://u:${encodeURIComponent(text)}@h/p?k=${encodeURIComponent(text)}`) }),
);

test('none of ten thousand log calls writes a text in a disallowed field', () => {
  const { log, lines } = aLog();
  const levels: (keyof Log)[] = ['debug', 'info', 'warn', 'error'];
  fc.assert(
    fc.property(fc.constantFrom(...levels), disallowed, disallowed, (level, own, fields) => {
      childLog(log, own as LogFields)[level]('Said', fields as LogFields);
      expect(lines.at(-1)).not.toContain(CANARY);
      lines.length = 0;
    }),
    cases(10_000),
  );
});

test('none of ten thousand log calls writes a secret that the process has read', () => {
  const { registerSecret, redact } = createRedactor();
  registerSecret(CANARY);
  const { log, lines } = aLog({ redact });
  fc.assert(
    fc.property(planted, planted, planted, (message, why, got) => {
      log.error(message, { why, error: { code: 'internal.defect', message, got } });
      expect(lines.at(-1)).not.toContain(CANARY);
      lines.length = 0;
    }),
    cases(10_000),
  );
});
