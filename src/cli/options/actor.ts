import { userInfo } from 'node:os';
import { stripInvisible } from '../../base/text/bidi.ts';
import { authorName, type DecisionAuthor } from '../../run/run-record.ts';
import { invalidOption } from './option-parsers.ts';

/** Flags of every command that decides. Author and reason are stored with the decision. */
export interface ActorFlags {
  readonly by?: string;
  readonly reason: string;
}

const MAX_REASON_LENGTH = 500;
const MAX_NAME_LENGTH = 100;

/** Throws `usage.invalid` if a text is empty, too long or has several lines. */
export const readActor = ({ by, reason }: ActorFlags): DecisionAuthor => ({
  by: readActorName(by),
  reason: parseReason(reason),
});

/** Only the reason, if a sign-in says who decides. Throws `usage.invalid` like `readActor`. */
export const parseReason = (reason: string, option = '--reason'): string =>
  parseSingleLine(option, reason, MAX_REASON_LENGTH);

/** Only the author. Throws `usage.invalid` like `readActor`. */
export const readActorName = (by: string = shellUser()): string =>
  authorName(parseSingleLine('--by', by, MAX_NAME_LENGTH), 'shell');

function parseSingleLine(option: string, text: string, maxLength: number): string {
  const trimmed = stripInvisible(text).trim();
  if (trimmed !== '' && trimmed.length <= maxLength && !/\p{Cc}/u.test(trimmed)) return trimmed;
  throw invalidOption(option, text, `one line of 1 to ${maxLength} characters`);
}

/** In a container, the user id may not have a name. */
function shellUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
