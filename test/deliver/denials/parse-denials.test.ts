import { expect, test } from 'vitest';
import { DocketError } from '../../../src/base/error.ts';
import { buildDenyList, MAX_DENIED } from '../../../src/deliver/denials/deny-list.ts';
import { parseDenials } from '../../../src/deliver/denials/parse-denials.ts';

const errorOf = (text: string): DocketError => {
  try {
    parseDenials(text);
  } catch (thrown) {
    if (thrown instanceof DocketError) return thrown;
  }
  throw new Error('was taken');
};

test('a list has one address or domain per line, in the spelling used to compare recipients', () => {
  expect(parseDenials('\uFEFFAna@ACME.example\r\n# left in May\n\n  bob+kpi@münchen.example\nBETA.example')).toEqual(
    ['ana@acme.example', 'bob+kpi@xn--mnchen-3ya.example', 'beta.example'].map((name) => ({ name, reason: undefined })),
  );
});

test('a CSV file has a header, and a reason in each line', () => {
  expect(parseDenials('Name;Address;Reason\n"Ana; A.";ana@acme.example;"retired"\nBob;bob@acme.example;\n')).toEqual([
    { name: 'ana@acme.example', reason: 'retired' },
    { name: 'bob@acme.example', reason: undefined },
  ]);
});

test.each([
  ['ana@acme.example\nAna <ana@acme.example>\nlocalhost\nbob@acme.example', ['line 2', 'line 3'], ['line 1', 'line 4']],
  ['address,reason\nana@acme.example,left\n,nobody', ['line 3'], ['line 2']],
  ['', ['no lines'], []],
  [`address,reason\nana@acme.example,${'x'.repeat(501)}\nbob@acme.example,${'x'.repeat(500)}`, ['line 2'], ['line 3']],
  ['address,reason\nana@acme.example,\u001b[2Jleft\nbob@acme.example,left', ['line 2'], ['line 3']],
  // Such an entry would never match a recipient.
  ['Group: ana@acme.example, bob@acme.example;', ['line 1'], []],
  [
    '"Ana, A." <ana@acme.example>\n"ana"@acme.example\nana@acme.example.\nana@[10.0.0.1]',
    ['line 1', 'line 2', 'line 3', 'line 4'],
    [],
  ],
  [
    '*@acme.example\n@acme.example\n*.acme.example\n.acme.example\nacme.example.',
    ['line 2', 'line 3', 'line 4', 'line 5'],
    [],
  ],
])('an error names the invalid lines of %j', (text, named, others) => {
  const { code, got = '' } = errorOf(text);
  expect(code).toBe('usage.invalid');
  for (const line of named) expect(got).toContain(line);
  for (const line of others) expect(got).not.toContain(line);
});

test('a list that is too long is refused', () => {
  const lines = Array.from({ length: MAX_DENIED + 1 }, (_, index) => `p${index}@acme.example`);
  expect(errorOf(lines.join('\n'))).toMatchObject({ code: 'usage.invalid', got: String(MAX_DENIED + 1) });
});

test('a deny list finds an address in any spelling, and by its exact domain', () => {
  const entry = (name: string) => ({ name, by: 'ana', reason: 'left', since: 1 });
  const list = buildDenyList({
    version: 1,
    entries: [entry('ana@acme.example'), entry('xn--mnchen-3ya.example')],
    change: null,
  });
  const found = (recipient: string) => list.find(recipient)?.name;
  expect(found('ANA@Acme.Example')).toBe('ana@acme.example');
  expect(found('bob@MÜNCHEN.example')).toBe('xn--mnchen-3ya.example');
  for (const other of [
    'ana+kpi@acme.example',
    'ana@sub.acme.example',
    'bob@a.münchen.example',
    's3://ana@acme.example/',
  ])
    expect(found(other)).toBeUndefined();
});
