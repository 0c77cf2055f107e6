import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addressKey,
  canonicalAddress,
  canonicalDomain,
  recipientRefusal,
  recipientSearchText,
} from '../../../src/definitions/allow-lists/recipients.ts';
import { cases } from '../../support/fuzz.ts';

const ALLOWED = { domains: ['acme.example', 'zürich.example'], addresses: ['Guest@Partner.example'] };

test.each([
  ['lead@acme.example', 'lead@acme.example'],
  ['First.Last+tag@ACME.Example', 'First.Last+tag@acme.example'],
  ['lead@zürich.example', 'lead@xn--zrich-kva.example'],
  ['lead@xn--zrich-kva.example', 'lead@xn--zrich-kva.example'],
])('%s is sent as %s', (address, canonical) => {
  expect(canonicalAddress(address)).toBe(canonical);
});

test.each([
  '',
  'lead',
  '@acme.example',
  'lead@',
  'lead@acme',
  'lead@@acme.example',
  'lead@evil.example@acme.example',
  'lead @acme.example',
  ' lead@acme.example',
  'lead@acme.example ',
  'lead@acme.example\n',
  'lead@acme.example\r\nBcc: rival@elsewhere.example',
  'lead@acme.example,rival@elsewhere.example',
  'lead@acme.example;rival@elsewhere.example',
  '"lead"@acme.example',
  '"a@evil.example"@acme.example',
  'lead(comment)@acme.example',
  'lead@acme.example(comment)',
  'Lead <lead@acme.example>',
  '<lead@acme.example>',
  '@relay.example:lead@acme.example',
  'rival%elsewhere.example@',
  'lead@[127.0.0.1]',
  'lead@127.0.0.1',
  'lead@0x7f.1',
  'lead@acme..example',
  'lead@.acme.example',
  'lead@acme.example.',
  'lead@-acme.example',
  'lead@acme.example:25',
  'lead@acme.example/x',
  'lead@acme%2eexample',
  'lead..x@acme.example',
  '.lead@acme.example',
  'läd@acme.example',
  'lead\0@acme.example',
  `${'a'.repeat(65)}@acme.example`,
  `lead@${'a'.repeat(64)}.example`,
  `lead@${'a.'.repeat(130)}example`,
])('%j is not a plain address', (address) => {
  expect(canonicalAddress(address)).toBeUndefined();
  expect(recipientRefusal(address, { domains: ['acme.example'], addresses: [address] })).toContain(
    'not a plain e-mail',
  );
});

test.each(['acme\u212Dex.example', '\u212Aern.example', '\u017Ftart.example', '\uff41cme.example', '\u0130x.example'])(
  '%j only looks like an allowed domain and is refused',
  (domain) => {
    expect(canonicalDomain(domain)).toBeUndefined();
    const allowed = { domains: ['kern.example', 'start.example', 'acme.example', 'i\u0307x.example'], addresses: [] };
    expect(recipientRefusal(`lead@${domain}`, allowed)).toContain('not a plain e-mail');
  },
);

test.each(['Z\u00fcrich.example', 'Z\u00dcRICH.example', 'zu\u0308rich.example', 'XN--ZRICH-KVA.example'])(
  '%j is another spelling of the same domain, also in searches',
  (domain) => {
    expect(canonicalDomain(domain)).toBe('xn--zrich-kva.example');
    expect(recipientSearchText(`Lead@${domain}`)).toBe('lead@xn--zrich-kva.example');
    expect(recipientSearchText(`@${domain}`)).toBe('@xn--zrich-kva.example');
  },
);

test.each([
  'lead@acme.example',
  'LEAD@Acme.Example',
  'lead@zürich.example',
  'lead@xn--zrich-kva.example',
  'guest@partner.example',
])('%s is allowed', (address) => {
  expect(recipientRefusal(address, ALLOWED)).toBeUndefined();
});

test.each(['lead@sub.acme.example', 'lead@notacme.example', 'lead@acme.example.evil.example', 'other@partner.example'])(
  '%s is not allowed, because an entry allows only exactly its domain or address',
  (address) => {
    expect(recipientRefusal(address, ALLOWED)).toContain('not among');
  },
);

test.each([
  'rival%evil.test@acme.example',
  'evil.test!rival@acme.example',
  'rival!evil@acme.example',
  'a%b%c@ACME.example',
  '"rival%evil.test"@acme.example',
  '@evil.test,@relay.example:lead@acme.example',
  '@evil.test:lead@acme.example',
  'lead@evil.test@acme.example',
])('%s contains a route and is not allowed by its domain', (address) => {
  expect(recipientRefusal(address, ALLOWED)).toBeDefined();
});

test('an address with a "%" is allowed if the organization lists it in full', () => {
  const allowed = { domains: ['acme.example'], addresses: ['100%@acme.example'] };
  expect(recipientRefusal('100%@acme.example', allowed)).toBeUndefined();
  expect(recipientRefusal('99%@acme.example', allowed)).toBeDefined();
});

test('an entry that is neither a domain nor an address allows nobody', () => {
  for (const entry of ['*', '', '.', '*.example', '@acme.example', 'example']) {
    expect(recipientRefusal('lead@acme.example', { domains: [entry], addresses: [entry] })).toContain('not among');
  }
  expect(recipientRefusal('lead@acme.example', { domains: [], addresses: [] })).toContain('not among');
});

test('a canonical address is printable ASCII with one @, and stays the same when canonicalized again', () => {
  const near = fc.tuple(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom('@', '@@', '"@', '\r\n@'),
    fc.string({ unit: 'binary', maxLength: 12 }),
  );
  const address = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.emailAddress(),
    near.map(([local, at, domain]) => `${local}${at}${domain}.example`),
  );
  fc.assert(
    fc.property(address, (text) => {
      const canonical = canonicalAddress(text);
      if (canonical === undefined) return;
      expect(canonical).toMatch(/^[!-?A-~]+@[a-z0-9.-]+$/);
      expect(canonicalAddress(canonical)).toBe(canonical);
      expect(canonicalDomain(canonical.slice(canonical.indexOf('@') + 1))).toBeDefined();
      expect(addressKey(canonical)).toBe(canonical.toLowerCase());
    }),
    cases(10_000),
  );
});
