import { DocketError } from '../base/error.ts';
import { settlesWithin } from '../queue/within.ts';

/** What is asked of an archive before a process may go on takes this long at the most, ms. */
const ARCHIVE_TIMEOUT_MS = 10_000;

/** Asks the archive something. Throws `archive.unreachable` when it has not answered in time, and what the question throws. */
export type ArchiveTimeout = <T>(question: () => Promise<T>) => Promise<T>;

/**
 * A network share whose server is gone answers never. Each question to it holds one of the few threads that the process has
 * for files and names of hosts: while one is unanswered no other is asked.
 */
export function createArchiveTimeout(place: string, limitMs: number = ARCHIVE_TIMEOUT_MS): ArchiveTimeout {
  let unanswered = false;
  const late = (): DocketError =>
    new DocketError('archive.unreachable', `The archive did not answer within ${limitMs} ms.`, {
      where: place,
      next: 'Look at the disk or the network share behind it.',
    });
  return async (question) => {
    if (unanswered) throw late();
    const asked = question();
    if (await settlesWithin(asked, limitMs)) return asked;
    unanswered = true;
    const answered = () => {
      unanswered = false;
    };
    asked.then(answered, answered);
    throw late();
  };
}
