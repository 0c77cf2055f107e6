import type { ApprovalSpec, People } from '../../definitions/schema/review.ts';
import type { ReviewActor } from './review-event.ts';

const TOKEN_PREFIX = 'token:';
const sameText = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** What an actor who is no known person signed in with: the token's name; the account's subject and verified e-mail. */
const credentialsOf = ({ principal, name }: ReviewActor): readonly string[] =>
  principal.startsWith(TOKEN_PREFIX) ? [principal.slice(TOKEN_PREFIX.length)] : [principal, name];

/** Whether `approval.by` names the actor: the person, one of its tokens or accounts, or the credentials of nobody known. */
export function isReviewer({ by }: Pick<ApprovalSpec, 'by'>, people: People, actor: ReviewActor): boolean {
  const person = Object.hasOwn(people, actor.person) ? people[actor.person] : undefined;
  if (person !== undefined) {
    return by.some(
      (name) =>
        name === actor.person ||
        // A key of `people` names that person, whoever has a token of the same name.
        (!Object.hasOwn(people, name) &&
          (person.tokens.includes(name) || person.accounts.some((account) => sameText(account, name)))),
    );
  }
  const credentials = credentialsOf(actor);
  return by.some(
    (name) => !Object.hasOwn(people, name) && credentials.some((credential) => sameText(credential, name)),
  );
}

/**
 * The persons whom a name may mean. A run's order has only the name of who triggered it: everybody with this key, name, token
 * or account counts.
 */
export function personsNamed(people: People, text: string): readonly string[] {
  const known = Object.entries(people).flatMap(([key, { name, tokens, accounts }]) =>
    [key, name ?? key, ...tokens, ...accounts].some((each) => sameText(each, text)) ? [key] : [],
  );
  return [...known, text, `${TOKEN_PREFIX}${text}`];
}

/** Whether an actor may be one of these persons. */
export const isOneOf = (persons: readonly string[], { person, name, principal }: ReviewActor): boolean =>
  persons.some((each) => [person, name, principal].some((own) => sameText(own, each)));
