import { describe, expect, it } from 'vitest';
import { sha256 } from '../../src/base/sha256.ts';
import {
  approvers,
  findApproverId,
  isInvolved,
  keyOfEntry,
  type PersonRef,
  remainingApprovers,
  resolvePerson,
  type SignIn,
  shellPerson,
} from '../../src/definitions/people.ts';
import { peopleSchema } from '../../src/definitions/schema/review.ts';

const ISSUER = 'https://id.example';
const token = (name: string): SignIn => ({ name, kind: 'token', subject: `token:${name}` });
const account = (name: string, sub: string): SignIn => ({ name, kind: 'account', subject: `${ISSUER} ${sub}` });

const people = peopleSchema.parse({
  mlro: { name: 'Ann Keller', tokens: ['ann-cli', 'ann-ci'], accounts: ['Ann@acme.example', '8f2c'] },
  head: { accounts: ['bob@acme.example'], email: 'compliance@acme.example' },
  nobody: {},
});
const ann: PersonRef = { person: 'mlro', name: 'Ann Keller', principal: 'token:ann-cli' };

describe('resolvePerson', () => {
  it.each([token('ann-cli'), token('ann-ci'), account('ann@ACME.example', '1'), account('ann (0123)', '8f2c')])(
    'maps $name to one person',
    (signIn) => {
      expect(resolvePerson(signIn, people)).toEqual({ person: 'mlro', name: 'Ann Keller', principal: signIn.subject });
    },
  );

  it.each([
    ['a token with the name of a person', token('mlro')],
    ['a token with the name of an account', token('ann@acme.example')],
    ['an account with the name of a token', account('ann-cli', 'ann-cli')],
    ['an account that chose an address as its subject', account('x (0123)', 'bob@acme.example')],
    ['a token with the subject of an account', token('8f2c')],
    ['a property of every object', token('constructor')],
  ])('leaves %s alone', (_, signIn) => {
    expect(resolvePerson(signIn, people)).toEqual({
      person: signIn.subject,
      name: signIn.name,
      principal: signIn.subject,
    });
  });
});

describe('findApproverId', () => {
  const of = (signIn: SignIn, by: readonly string[]) => findApproverId(resolvePerson(signIn, people), by, people);

  it('finds a person listed by key, token or account, whatever they signed in with', () => {
    for (const entry of ['mlro', 'ann-ci', 'ANN@acme.example']) {
      for (const signIn of [token('ann-cli'), account('ann@acme.example', '1')])
        expect(of(signIn, [entry])).toBe('mlro');
    }
  });

  it('finds listed tokens and accounts without a person', () => {
    expect(of(token('carl'), ['carl'])).toBe('carl');
    expect(of(account('Dora@acme.example', '1'), ['dora@acme.example'])).toBe('dora@acme.example');
    expect(of(account('x', '77'), [`${ISSUER} 77`])).toBe(`${ISSUER} 77`);
  });

  it('counts a token and an account under one entry once', () => {
    const by = ['dora@acme.example'];
    expect(of(token('dora@acme.example'), by)).toBe(of(account('DORA@acme.example', '1'), by));
  });

  it.each([
    ['an unmapped token that has the name of a person', token('mlro'), ['mlro']],
    ['an account that chose the name of a token as its subject', account('x (0123)', 'carl'), ['carl']],
    [
      'an account that chose an address as its subject',
      account('x (0123)', 'dora@acme.example'),
      ['dora@acme.example'],
    ],
    ['an account without a verified address', account('dora@acme.example (0123)', '1'), ['dora@acme.example']],
    ['somebody else', token('carl'), ['mlro', 'head']],
  ])('refuses %s', (_, signIn, by) => {
    expect(of(signIn, by)).toBeUndefined();
  });

  it('refuses a user of the shell', () => {
    expect(findApproverId(shellPerson('carl'), ['carl', 'shell:carl'], people)).toBeUndefined();
  });
});

describe('approvers', () => {
  it('lists each person once, with the address for notices and whether they can sign in', () => {
    expect(approvers(['ann-cli', 'mlro', 'head', 'nobody', 'carl', 'Dora@acme.example', 'ann-ci'], people)).toEqual([
      { id: 'mlro', name: 'Ann Keller', email: 'Ann@acme.example', canSignIn: true },
      { id: 'head', name: 'head', email: 'compliance@acme.example', canSignIn: true },
      { id: 'nobody', name: 'nobody', canSignIn: false },
      { id: 'carl', name: 'carl', canSignIn: true },
      { id: 'dora@acme.example', name: 'Dora@acme.example', email: 'Dora@acme.example', canSignIn: true },
    ]);
  });
});

describe('isInvolved', () => {
  it.each(['mlro', 'ANN KELLER', 'ann-cli', 'ann-ci', 'ann@acme.example', '8f2c', 'shell:Ann-CLI', ' mlro '])(
    'excludes a person whose name, token or account triggered the run: %j',
    (triggeredBy) => {
      expect(isInvolved(ann, { triggeredBy, authors: [] }, people)).toBe(true);
    },
  );

  it('recognizes an account without a verified address by the hash in its name', () => {
    const principal = `${ISSUER} 8f2c`;
    const triggeredBy = `ann (${sha256(principal).slice(0, 12)})`;
    expect(isInvolved({ ...ann, principal }, { triggeredBy, authors: [] }, people)).toBe(true);
    // After a sign-in with a token the issuer is unknown, so the account may be that of the person.
    expect(isInvolved(ann, { triggeredBy, authors: [] }, people)).toBe(true);
    const other = `ann (${'0'.repeat(12)})`;
    expect(isInvolved({ ...ann, principal }, { triggeredBy: other, authors: [] }, people)).toBe(false);
    const bob = resolvePerson(token('bob'), people);
    expect(isInvolved(bob, { triggeredBy, authors: [] }, people)).toBe(false);
  });

  it('excludes authors, whatever they sign in with', () => {
    const author = resolvePerson(account('ann@acme.example', '1'), people);
    expect(isInvolved(ann, { authors: [author] }, people)).toBe(true);
    expect(isInvolved(ann, { authors: [shellPerson('ann-cli')] }, people)).toBe(true);
  });

  it('excludes nobody else', () => {
    const authors = [resolvePerson(account('bob@acme.example', '2'), people), shellPerson('carl')];
    expect(isInvolved(ann, { triggeredBy: 'bob', authors }, people)).toBe(false);
    expect(isInvolved(ann, { authors: [] }, people)).toBe(false);
  });
});

describe('isInvolved with the subject of whoever triggered the run', () => {
  const triggered = (signIn: SignIn) => ({
    triggeredBy: signIn.name,
    triggeredBySubject: signIn.subject,
    authors: [],
  });

  it('excludes a person whose account was mapped by its subject, whatever they sign in with now', () => {
    const involved = triggered(account('a.keller@acme.example', '8f2c'));
    for (const signIn of [token('ann-ci'), account('ann@acme.example', '1'), account('a.keller@acme.example', '8f2c')])
      expect(isInvolved(resolvePerson(signIn, people), involved, people)).toBe(true);
    expect(remainingApprovers(['mlro', 'head'], people, involved).map(({ id }) => id)).toEqual(['head']);
  });

  it('excludes an account without a person by its subject, because its address may have changed', () => {
    const involved = triggered(account('dora@acme.example', '77'));
    expect(isInvolved(resolvePerson(account('d.meyer@acme.example', '77'), people), involved, people)).toBe(true);
    expect(remainingApprovers([`${ISSUER} 77`, 'head'], people, involved).map(({ id }) => id)).toEqual(['head']);
  });

  it('excludes an author who was added to `people` later', () => {
    const author: PersonRef = { person: `${ISSUER} 8f2c`, name: 'x (0123)', principal: `${ISSUER} 8f2c` };
    expect(isInvolved(ann, { authors: [author] }, people)).toBe(true);
  });

  it('excludes nobody else', () => {
    const others = [account('a.keller@acme.example', '9'), account('bob@acme.example', '2'), token('carl')];
    for (const signIn of others) expect(isInvolved(ann, triggered(signIn), people)).toBe(false);
  });
});

describe('isInvolved with only the name of whoever triggered the run', () => {
  const excludes = (person: PersonRef, triggeredBy: string) => isInvolved(person, { triggeredBy, authors: [] }, people);

  it('excludes everyone with an account mapped by its subject, which an unknown address may belong to', () => {
    const signIns = [token('ann-cli'), account('a.keller@acme.example', '8f2c')];
    for (const signIn of signIns) expect(excludes(resolvePerson(signIn, people), 'a.keller@acme.example')).toBe(true);
    // A user of the shell can have any name.
    expect(isInvolved(ann, { authors: [shellPerson('a.keller@acme.example')] }, people)).toBe(true);
  });

  it("excludes nobody because of another person's account, and nobody whose accounts are all mapped by address", () => {
    expect(excludes(ann, 'bob@acme.example')).toBe(false);
    expect(excludes(ann, 'carl')).toBe(false);
    expect(excludes({ person: 'head', name: 'head', principal: 'token:x' }, 'a.keller@acme.example')).toBe(false);
  });
});

describe('look-alikes', () => {
  const KELVIN = '\u212A';
  const kim = peopleSchema.parse({ kim: { accounts: ['kim@kern.example', 'j\u00f6rg@z\u00fcrich.example'] } });
  const kimRef = (name: string, sub = '5') => resolvePerson(account(name, sub), kim);

  it.each([`${KELVIN}im@kern.example`, `kim@${KELVIN}ern.example`, 'kim@kern.exampl\uff45'])(
    '%j is another person',
    (name) => {
      const other = kimRef(name);
      expect(other.person).toBe(`${ISSUER} 5`);
      expect(findApproverId(other, ['kim@kern.example'], undefined)).toBeUndefined();
      expect(keyOfEntry(name, kim)).toBeUndefined();
      const involved = { triggeredBy: name, triggeredBySubject: other.principal, authors: [other] };
      expect(isInvolved(kimRef('kim@kern.example', '6'), involved, kim)).toBe(false);
    },
  );

  it.each(['KIM@Kern.example', 'jo\u0308rg@Z\u00fcrich.example', 'j\u00f6rg@xn--zrich-kva.example'])(
    '%j is the same account',
    (name) => {
      expect(kimRef(name).person).toBe('kim');
    },
  );
});

describe('remainingApprovers', () => {
  it('lists approvers who can sign in and are not involved', () => {
    const left = (triggeredBy?: string) =>
      remainingApprovers(['mlro', 'head', 'nobody', 'carl'], people, { triggeredBy, authors: [] }).map(({ id }) => id);
    expect(left()).toEqual(['mlro', 'head', 'carl']);
    expect(left('ann-ci')).toEqual(['head', 'carl']);
    expect(left('carl')).toEqual(['mlro', 'head']);
  });
});
