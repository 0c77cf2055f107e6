import { userInfo } from 'node:os';
import { type Command, Option } from 'commander';
import type { DecisionAuthor } from '../../run/run-record.ts';

/** Flags of every command that decides: author and reason are stored with the decision. */
export interface ActorFlags {
  readonly by?: string;
  readonly reason: string;
}

export const addActorOptions = (command: Command): Command =>
  command
    .requiredOption('--reason <text>', 'why; stored with the decision')
    .addOption(new Option('--by <name>', 'who decides; default: the user of this shell'));

const MAX_REASON_LENGTH = 500;
const MAX_NAME_LENGTH = 100;

/** Throws `usage.invalid` for a text that is empty, too long or has several lines. */
export async function readActor({ by, reason }: ActorFlags): Promise<DecisionAuthor> {
  return { by: await readActorName(by), reason: await parseSingleLine('--reason', reason, MAX_REASON_LENGTH) };
}

/** The author alone. Throws `usage.invalid` as above. */
export const readActorName = (by: string = shellUser()): Promise<string> =>
  parseSingleLine('--by', by, MAX_NAME_LENGTH);

async function parseSingleLine(option: string, text: string, maxLength: number): Promise<string> {
  const trimmed = text.trim();
  if (trimmed !== '' && trimmed.length <= maxLength && !/\p{Cc}/u.test(trimmed)) return trimmed;
  const { invalidOption } = await import('./option-parsers.ts');
  throw invalidOption(option, text, `one line of 1 to ${maxLength} characters`);
}

/** In a container the user id may have no name. */
function shellUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
