import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AccountRule, accountAccess, mayAdmit } from '../../../src/features/accounts/account-access.ts';
import { createSeal } from '../../../src/features/accounts/account-sessions.ts';
import { readAccounts, watchAccounts } from '../../../src/features/accounts/accounts-file.ts';
import {
  type AccountClaims,
  accountName,
  keepMissing,
  mergeClaims,
  parseClaims,
} from '../../../src/features/accounts/claims.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { recordingLog } from '../../support/queue-harness.ts';

const ISSUER = 'https://login.example';
const ada: AccountClaims = {
  subject: 'u1',
  email: 'Ada@acme.example',
  emailVerified: true,
  groups: ['acme-ops', 'docket:viewer:rival'],
  groupsOmitted: false,
};
const access = (rules: readonly AccountRule[], claims = ada, claimGrants = false) =>
  accountAccess(claims, { rules, claimGrants });

describe('the access of an account', () => {
  it('distinguishes look-alike addresses, and accepts other spellings of the same address', () => {
    const rule: AccountRule = { email: 'kim@z\u00fcrich.example', role: 'operator', orgs: '*' };
    const of = (email: string) => access([rule], { ...ada, email });
    expect(of('\u212Aim@z\u00fcrich.example')).toBeUndefined();
    expect(of('KIM@xn--zrich-kva.example')).toEqual({ role: 'operator', orgs: '*' });
  });

  it('is none without a matching entry', () => {
    expect(access([])).toBeUndefined();
    expect(access([{ subject: 'u2', role: 'viewer', orgs: '*' }])).toBeUndefined();
    expect(access([{ group: 'acme', role: 'viewer', orgs: '*' }])).toBeUndefined();
  });

  it.each<AccountRule>([
    { subject: 'u1', role: 'viewer', orgs: ['acme'] },
    { email: 'ada@ACME.example', role: 'viewer', orgs: ['acme'] },
    { group: 'acme-ops', role: 'viewer', orgs: ['acme'] },
  ])('comes from %j', (rule) => {
    expect(access([rule])).toEqual({ role: 'viewer', orgs: ['acme'] });
  });

  it('does not come from an address that is not verified', () => {
    const rule: AccountRule = { email: 'ada@acme.example', role: 'viewer', orgs: '*' };
    expect(access([rule], { ...ada, emailVerified: false })).toBeUndefined();
  });

  it('comes from values of the claim only if that is configured', () => {
    expect(access([], ada, false)).toBeUndefined();
    expect(access([], ada, true)).toEqual({ role: 'viewer', orgs: ['rival'] });
    const odd = [
      'docket:admin:acme',
      'docket:viewer:',
      'docket:viewer:a:b',
      'xdocket:viewer:acme',
      'docket:viewer:a b',
    ];
    expect(access([], { ...ada, groups: odd }, true)).toBeUndefined();
  });

  it('is that of a single role: entries for viewers do not widen those for operators', () => {
    const rules: AccountRule[] = [
      { subject: 'u1', role: 'viewer', orgs: '*' },
      { group: 'acme-ops', role: 'operator', orgs: ['beta', 'acme'] },
      { email: 'ada@acme.example', role: 'operator', orgs: ['acme'] },
    ];
    expect(access(rules, ada, true)).toEqual({ role: 'operator', orgs: ['acme', 'beta'] });
    expect(access([{ subject: 'u1', role: 'operator', orgs: '*' }, ...rules])).toEqual({ role: 'operator', orgs: '*' });
  });
});

describe('the claims of an account', () => {
  it('are read by a name with dots, or along a path', () => {
    const groups = (claims: object, name: string) => parseClaims({ ...claims }, 'u1', name).groups;
    expect(groups({ realm_access: { roles: ['a'] } }, 'realm_access.roles')).toEqual(['a']);
    expect(groups({ 'https://acme.example/roles': ['b'] }, 'https://acme.example/roles')).toEqual(['b']);
    expect(groups({ roles: 'one' }, 'roles')).toEqual(['one']);
    expect(groups({ roles: [1, null, { a: 1 }, 'x'.repeat(300), 'fine'] }, 'roles')).toEqual(['fine']);
    expect(groups({}, '__proto__.constructor')).toEqual([]);
    expect(groups({ groups: {} }, 'groups.constructor.name')).toEqual([]);
  });

  it('show whether the provider left groups out', () => {
    const omitted = (claims: object) => parseClaims({ ...claims }, 'u1', 'groups').groupsOmitted;
    expect(omitted({ _claim_names: { groups: 'src1' } })).toBe(true);
    expect(omitted({ hasgroups: true })).toBe(true);
    expect(omitted({ groups: [] })).toBe(false);
  });

  it('from UserInfo do not verify a different address in the ID token', () => {
    const userInfo = { email: 'eve@evil.example', email_verified: true };
    const merged = parseClaims({ ...mergeClaims(userInfo, { email: 'ada@acme.example' }) }, 'u1', 'groups');
    expect(merged).toMatchObject({ email: 'ada@acme.example', emailVerified: false });
    expect(parseClaims({ ...mergeClaims(userInfo, {}) }, 'u1', 'groups')).toMatchObject({ emailVerified: true });
  });

  it('keep their values when UserInfo lacks them and no ID token came', () => {
    const bare = parseClaims({}, 'u1', 'groups');
    expect(keepMissing(bare, ada, {}, 'groups')).toEqual(ada);
    expect(keepMissing(bare, ada, { groups: [] }, 'groups').groups).toEqual([]);
  });

  it('give a name that nobody else can get', () => {
    expect(accountName(ISSUER, ada)).toBe('Ada@acme.example');
    const eve = accountName(ISSUER, { ...ada, subject: 'u9', emailVerified: false });
    expect(eve).toMatch(/^Ada@acme\.example \([0-9a-f]{12}\)$/);
    const { email: _, ...nameless } = ada;
    const named = (username: string) => accountName(ISSUER, { ...nameless, username });
    expect(named('ops')).toMatch(/^ops \([0-9a-f]{12}\)$/);
    expect(named('x'.repeat(250)).length).toBeLessThanOrEqual(100);
    expect(named('a\u202eb')).toMatch(/^account \(/);
  });
});

describe('a sealed text', () => {
  it('opens only unchanged, and with the same secrets and purpose', () => {
    const seal = createSeal('secret', 'id', 'purpose');
    const sealed = seal.seal('text');
    expect(seal.open(sealed)).toBe('text');
    expect(seal.seal('text')).not.toBe(sealed);
    for (const [secret, own, purpose] of [
      ['other', 'id', 'purpose'],
      ['secret', 'other', 'purpose'],
      ['secret', 'id', 'other'],
    ] as const)
      expect(createSeal(secret, own, purpose).open(sealed)).toBeUndefined();
    const bytes = Buffer.from(sealed, 'base64url');
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(seal.open(changed.toString('base64url'))).toBeUndefined();
    }
    for (const text of ['', 'AAAA', sealed.slice(0, 30)]) expect(seal.open(text)).toBeUndefined();
  });
});

describe('the file of accounts', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-accounts-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it.each([
    '- role: viewer\n  orgs: [acme]',
    '- subject: a\n  email: b\n  role: viewer\n  orgs: [acme]',
    '- group: a\n  role: admin\n  orgs: [acme]',
    '- group: a\n  role: viewer\n  orgs: []',
    'subject: a',
    '- group: a\n  role: viewer',
    '- group: ""\n  role: viewer\n  orgs: "*"',
  ])('is rejected: %j', async (text) => {
    const path = join(folder, 'invalid.yaml');
    await writeFile(path, text);
    await expect(readAccounts(path)).rejects.toMatchObject({ code: 'config.invalid', where: path });
  });

  it('is reloaded when it changes; an error keeps the last good version, a missing file removes all access', async () => {
    const path = join(folder, 'accounts.yaml');
    const clock = manualClock(0);
    const log = recordingLog();
    const current = await watchAccounts(path, { clock, log });
    const later = async () => {
      clock.advance(2_000);
      return (await current()).length;
    };
    expect(await later()).toBe(0);
    await writeFile(path, '- subject: a\n  role: viewer\n  orgs: "*"\n');
    expect(await later()).toBe(1);
    await writeFile(path, '- subject: [');
    expect(await later()).toBe(1);
    expect(log.lines.filter(({ level }) => level === 'error').length).toBe(1);
    await rm(path);
    expect(await later()).toBe(0);
  });
});

it.each([
  ['the e-mail address, in any case', { email: 'Ann@acme.example' }, true],
  ['the subject together with its issuer', { subject: 'u1' }, true],
  ['a group, whose members only the provider knows', { group: 'board' }, true],
  ['the address of somebody else', { email: 'x@acme.example' }, false],
])('checks whether an entry for %s can admit an account', (_, who, expected) => {
  const rules: readonly AccountRule[] = [{ ...who, role: 'viewer', orgs: ['acme'] } as AccountRule];
  const own = ['ann@acme.example', 'https://login.example u1'];
  expect(mayAdmit({ rules, claimGrants: false })(own, 'acme')).toBe(expected);
  expect(mayAdmit({ rules, claimGrants: false })(own, 'globex')).toBe(false);
  expect(mayAdmit({ rules, claimGrants: true })(own, 'globex')).toBe(true);
});
