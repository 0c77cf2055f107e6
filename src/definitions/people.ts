import { sha256 } from '../base/sha256.ts';
import { foldText } from '../base/text/fold.ts';
import { accountKey } from './allow-lists/recipients.ts';
import type { People } from './schema/review.ts';

/** Who signed in, as in `Principal` of the admin route. */
export interface SignIn {
  readonly name: string;
  readonly kind: 'token' | 'account';
  /** `token:<name>`, or issuer and subject of an account, separated by a space. */
  readonly subject: string;
}

/** A person who did something, as in the events of reviews. */
export interface PersonRef {
  /** Key in `people`; if nobody is mapped, the subject of the sign-in. */
  readonly person: string;
  /** The printed name. */
  readonly name: string;
  /** Subject of the sign-in; `shell:<user>` for a user of the shell. */
  readonly principal: string;
}

/** Somebody who may approve. A person who is named twice, or by several tokens and accounts, is one approver. */
export interface Approver {
  /** Key in `people`, or the entry in `by` if it names a token or account that belongs to nobody there. */
  readonly id: string;
  /** The printed name. */
  readonly name: string;
  /** Where notices are sent; absent if no address is known. */
  readonly email?: string;
  /** False for a person in `people` without tokens and accounts. */
  readonly canSignIn: boolean;
}

/** The people whom `four_eyes` excludes: who triggered the run, and the authors of what is printed. */
export interface Involved {
  /**
   * `RunOrder.by`: a name, which may be that of a token, an account or a shell user. Absent: a schedule triggered the
   * run.
   */
  readonly triggeredBy?: string | undefined;
  /** `RunOrder.bySubject`. Absent: the run is from the shell or an older version, so only the name is known. */
  readonly triggeredBySubject?: string | undefined;
  readonly authors: readonly PersonRef[];
}

const TOKEN_PREFIX = 'token:';
const SHELL_PREFIX = 'shell:';

const personAt = (people: People | undefined, key: string): People[string] | undefined =>
  people !== undefined && Object.hasOwn(people, key) ? people[key] : undefined;
const nameOf = (key: string, { name }: People[string]): string => name ?? key;

/** The `sub` of an account: the part after the issuer, which is a URL. */
const accountId = (subject: string): string => subject.slice(subject.indexOf(' ') + 1);

/**
 * Whether an entry in `people.<key>.accounts` is this account: its verified address, its issuer and subject, or its
 * subject alone. An entry with "@" is never compared with a subject alone, because some providers let people choose it.
 */
const isAccount = (entry: string, { name, subject }: Pick<SignIn, 'name' | 'subject'>): boolean =>
  entry === subject || (entry.includes('@') ? accountKey(entry) === accountKey(name) : entry === accountId(subject));

/** The key in `people` of the person whom a token or an account belongs to. */
function mappedPerson(people: People | undefined, signIn: SignIn): string | undefined {
  const { kind, subject } = signIn;
  return Object.entries(people ?? {}).find(([, { tokens, accounts }]) =>
    kind === 'token'
      ? tokens.some((token) => subject === TOKEN_PREFIX + token)
      : accounts.some((account) => isAccount(account, signIn)),
  )?.[0];
}

/** The person who signed in. It is the same person, whatever they signed in with. */
export function resolvePerson(signIn: SignIn, people: People | undefined): PersonRef {
  const key = mappedPerson(people, signIn);
  const found = key === undefined ? undefined : personAt(people, key);
  return key === undefined || found === undefined
    ? { person: signIn.subject, name: signIn.name, principal: signIn.subject }
    : { person: key, name: nameOf(key, found), principal: signIn.subject };
}

/** The person who triggered a run, if they had signed in. */
export function triggerPerson(
  { by, bySubject: subject }: { readonly by?: string | undefined; readonly bySubject?: string | undefined },
  people: People | undefined,
): PersonRef | undefined {
  return by === undefined || subject === undefined ? undefined : personWith(by, subject, people);
}

const personWith = (name: string, subject: string, people: People | undefined): PersonRef =>
  resolvePerson({ name, subject, kind: subject.startsWith(TOKEN_PREFIX) ? 'token' : 'account' }, people);

/** A user of the shell, who may comment but never approve. */
export const shellPerson = (user: string): PersonRef => {
  const person = SHELL_PREFIX + user;
  return { person, name: user, principal: person };
};

/** The key of the person whom an entry of `by` names: by key, token or account. */
export function keyOfEntry(entry: string, people: People | undefined): string | undefined {
  if (personAt(people, entry) !== undefined) return entry;
  const same = (text: string) => accountKey(text) === accountKey(entry);
  return Object.entries(people ?? {}).find(
    ([, { tokens, accounts }]) => tokens.includes(entry) || accounts.some(same),
  )?.[0];
}

/** Everybody whom `by` names, without repetitions, in its order. */
export function approvers(by: readonly string[], people: People | undefined): readonly Approver[] {
  const found = new Map<string, Approver>();
  for (const entry of by) {
    const key = keyOfEntry(entry, people);
    const person = key === undefined ? undefined : personAt(people, key);
    const id = key ?? accountKey(entry);
    if (found.has(id)) continue;
    const email = person === undefined ? addressIn([entry]) : (person.email ?? addressIn(person.accounts));
    found.set(id, {
      id,
      name: person === undefined || key === undefined ? entry : nameOf(key, person),
      ...(email === undefined ? {} : { email }),
      canSignIn: person === undefined || person.tokens.length + person.accounts.length > 0,
    });
  }
  return [...found.values()];
}

/** The subject of an account may contain a space and an address; that is not an address. */
const isAddress = (text: string): boolean => /^[^\s@:/]+@[^\s@:/]+$/.test(text);
const addressIn = (texts: readonly string[]): string | undefined => texts.find(isAddress);

/**
 * The id of the approver (`Approver.id`) that a person is; undefined if `by` does not name them. Several approvals with
 * one id count once. A token with the name of an account's address is the same approver as that account.
 */
export function findApproverId(
  { person, name, principal }: PersonRef,
  by: readonly string[],
  people: People | undefined,
): string | undefined {
  if (personAt(people, person) !== undefined) {
    return by.some((entry) => keyOfEntry(entry, people) === person) ? person : undefined;
  }
  const names = (entry: string): boolean => {
    if (keyOfEntry(entry, people) !== undefined || principal.startsWith(SHELL_PREFIX)) return false;
    if (principal.startsWith(TOKEN_PREFIX)) return principal === TOKEN_PREFIX + entry;
    return entry === principal || (isAddress(entry) && accountKey(entry) === accountKey(name));
  };
  const entry = by.find(names);
  return entry === undefined ? undefined : accountKey(entry);
}

/**
 * Whether `four_eyes` excludes a person because they triggered the run or wrote something in it. People are identified
 * by the key that their sign-in is mapped to, otherwise by its subject. If only a name is known, it is compared with
 * all names of the person: it is better to exclude one person too many than one too few.
 */
export function isInvolved(
  person: PersonRef,
  { triggeredBy, triggeredBySubject, authors }: Involved,
  people: People | undefined,
): boolean {
  const called = callNames(person, people);
  const isCalled = (text: string) => called.has(withoutPrefix(text)) || hasLabel(person, text, people);
  const mayBeCalled = (text: string) => isCalled(text) || mayHaveAddress(person, withoutPrefix(text), people);
  const trigger = triggerPerson({ by: triggeredBy, bySubject: triggeredBySubject }, people);
  if (triggeredBy !== undefined && trigger === undefined && mayBeCalled(triggeredBy)) return true;
  return [...(trigger === undefined ? [] : [trigger]), ...authors].some((author) => {
    const { person: key, name, principal } = author;
    if (key === person.person || isCalled(key)) return true;
    // The printed name of a mapped person is not a name that they sign in with.
    if (personAt(people, key) !== undefined) return false;
    if (principal.startsWith(SHELL_PREFIX)) return mayBeCalled(name);
    return isCalled(name) || personWith(name, principal, people).person === person.person;
  });
}

/**
 * Whether an address, if nothing else is known, may belong to the person: to an account that `people` lists by its
 * subject, so that its address is unknown. It does not if it is the account of another person.
 */
function mayHaveAddress({ person }: PersonRef, name: string, people: People | undefined): boolean {
  const accounts = personAt(people, person)?.accounts ?? [];
  if (!name.includes('@') || LABEL.test(name) || accounts.every(isAddress)) return false;
  const owner = keyOfEntry(name, people);
  return owner === undefined || owner === person;
}

/** The end of an account's name if it has no verified address. */
const LABEL = / \(([0-9a-f]{12})\)$/;

/**
 * Whether a name may belong to an account of the person without a verified address: it ends with digits from the hash
 * of issuer and subject. If the person signed in with a token, the issuer is unknown, so it may be theirs.
 */
function hasLabel({ person, principal }: PersonRef, text: string, people: People | undefined): boolean {
  const digits = LABEL.exec(text)?.[1];
  if (digits === undefined) return false;
  const own =
    personAt(people, person)?.accounts.filter((account) => account.includes(' ') || !account.includes('@')) ?? [];
  const issuer = principal.includes(' ') ? principal.slice(0, principal.indexOf(' ')) : undefined;
  return [principal, ...own].some((account) => {
    if (account.includes(' ')) return sha256(account).startsWith(digits);
    if (account === principal) return false;
    return issuer === undefined || sha256(`${issuer} ${account}`).startsWith(digits);
  });
}

/** The people in `by` who can sign in and whom `four_eyes` does not exclude. */
export const remainingApprovers = (
  by: readonly string[],
  people: People | undefined,
  involved: Involved,
): readonly Approver[] =>
  approvers(by, people).filter(
    ({ id, name, canSignIn }) => canSignIn && !isInvolved({ person: id, name, principal: id }, involved, people),
  );

const nameKey = (text: string): string => (text.includes('@') ? accountKey(text) : foldText(text));

const withoutPrefix = (text: string): string => {
  const plain = nameKey(text.trim());
  const prefix = [SHELL_PREFIX, TOKEN_PREFIX].find((each) => plain.startsWith(each));
  return prefix === undefined ? plain : plain.slice(prefix.length);
};

/** All names of a person, as `nameKey`. */
function callNames({ person, name, principal }: PersonRef, people: People | undefined): ReadonlySet<string> {
  const mapped = personAt(people, person);
  const names = [person, name, principal, ...(mapped === undefined ? [] : namesIn(mapped))];
  if (!principal.startsWith(TOKEN_PREFIX) && !principal.startsWith(SHELL_PREFIX)) names.push(accountId(principal));
  return new Set(names.map(withoutPrefix));
}

const namesIn = ({ name, email, tokens, accounts }: People[string]): readonly string[] => [
  ...[name, email].flatMap((text) => text ?? []),
  ...tokens,
  ...accounts,
];
