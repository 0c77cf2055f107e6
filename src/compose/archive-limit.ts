import { DocketError } from '../base/error.ts';
import { within } from '../queue/within.ts';

/** What is asked of an archive before a process may go on takes this long at the most, ms. */
const LIMIT_MS = 10_000;

/** Asks the archive something. Throws `archive.unreachable` when it has not answered in time, and what the question throws. */
export type AskArchive = <T>(question: () => Promise<T>) => Promise<T>;

/**
 * A network share whose server is gone answers never. Each question to it holds one of the few threads that the process has
 * for files and names of hosts: while one is unanswered no other is asked.
 */
export function archiveLimit(place: string, limitMs: number = LIMIT_MS): AskArchive {
  let unanswered = false;
  const late = (): DocketError =>
    new DocketError('archive.unreachable', `The archive did not answer within ${limitMs} ms.`, {
      where: place,
      next: 'Look at the disk or the network share behind it.',
    });
  return async (question) => {
    if (unanswered) throw late();
    const asked = question();
    if (await within(asked, limitMs)) return asked;
    unanswered = true;
    const answered = () => {
      unanswered = false;
    };
    asked.then(answered, answered);
    throw late();
  };
}
