import { userInfo } from 'node:os';
import { type Command, Option } from 'commander';
import type { Decider } from '../queue/decisions.ts';

/** Flags of every command that decides something: who did, and why, is kept with the decision. */
export interface DeciderFlags {
  readonly by?: string;
  readonly reason: string;
}

export const decides = (command: Command): Command =>
  command
    .requiredOption('--reason <text>', 'why; kept with the decision')
    .addOption(new Option('--by <name>', 'who decides; the user of this shell when absent'));

const MOST = 500;

/** Throws `usage.invalid` for what is empty, too long or of several lines. */
export async function readDecider({ by = shellUser(), reason }: DeciderFlags): Promise<Decider> {
  return { by: await readAsker(by), reason: await readLine('--reason', reason, MOST) };
}

/** Who asks for something. Throws `usage.invalid` as above. */
export const readAsker = (by: string = shellUser()): Promise<string> => readLine('--by', by, 100);

async function readLine(flag: string, text: string, most: number): Promise<string> {
  const { DocketError } = await import('../base/error.ts');
  const trimmed = text.trim();
  if (trimmed !== '' && trimmed.length <= most && !/\p{Cc}/u.test(trimmed)) return trimmed;
  throw new DocketError('usage.invalid', 'The value is not usable.', {
    where: flag,
    expected: `one line of 1 to ${most} characters`,
    got: `${trimmed.length} characters`,
    next: 'See --help.',
  });
}

/** A container may run under a number that has no name. */
function shellUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
