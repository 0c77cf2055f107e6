import type { CheckText } from '../admin/access/definitions.ts';
import type { Clock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import { taskThread } from '../base/task-thread.ts';
import { overLimit } from '../define/fault.ts';
import type { DefinitionReader } from '../define/reader.ts';
import type { DefinitionAnswer, DefinitionTask } from './definition-tasks.ts';
import type { CatalogIfHeld } from './planning.ts';

/** The thread's code, as it is built: beside `src/` and `dist/` alike. */
const ENTRY = new URL('../../dist/compose/definition-thread.js', import.meta.url);

/** Of a thread. The largest definition that may be takes a fraction. */
const MEMORY_MB = 256;
/** Somebody waits for the answer. */
const POSTED_DEADLINE_MS = 1_500;
/** The same from when it was posted, with the wait for its turn and for a thread. */
const POSTED_ANSWER_MS = 1_900;
/** Of each file of a folder. */
const FILE_DEADLINE_MS = 10_000;
/** Texts that wait to be checked: of one organization, and of all. */
const MAX_WAITING = { owner: 4, all: 32 };

const limit = (deadlineMs: number) => `${deadlineMs / 1000} s and ${MEMORY_MB} MB`;

interface ThreadSettings {
  readonly clock: Clock;
  /** Another thread than Docket's own, for tests. */
  readonly entry?: URL;
}

/** Reads the files of a folder in a thread. It is there while it is needed. */
export interface ReadingThread {
  readonly reader: DefinitionReader;
  close(): Promise<void>;
}

/**
 * A file that takes too much time or memory has a fault, and the others are read.
 * @param positions keeps where the values of a file are, for faults that are found later
 */
export function readingThread(settings: ThreadSettings & { readonly positions: boolean }): ReadingThread {
  const { clock, positions, entry = ENTRY } = settings;
  const thread = taskThread<DefinitionTask, DefinitionAnswer>({ entry, memoryMb: MEMORY_MB, clock });
  const ask = async (task: DefinitionTask): Promise<DefinitionAnswer | undefined> => {
    const outcome = await thread.run('', task, FILE_DEADLINE_MS);
    return outcome.kind === 'done' ? outcome.answer : undefined;
  };
  const givenUp = (text: string, file: string) => ({
    source: { file, text, lines: new Uint32Array() },
    faults: [overLimit(file, limit(FILE_DEADLINE_MS))],
  });
  return {
    reader: {
      report: async (text, file, name, of) => {
        const answer = await ask({ kind: 'report', positions, text, file, name, of });
        return answer?.kind === 'report' ? withText(answer.read, text) : givenUp(text, file);
      },
      settings: async (text, file) => {
        const answer = await ask({ kind: 'settings', positions, text, file });
        return answer?.kind === 'settings' ? withText(answer.read, text) : givenUp(text, file);
      },
    },
    close: () => thread.close(),
  };
}

const withText = <Read extends { readonly source: { readonly text: string } }>(read: Read, text: string): Read => ({
  ...read,
  source: { ...read.source, text },
});

/** Checks texts that were posted, in a thread of their own: a folder that is read does not hold them up. */
export interface PostedThread {
  readonly check: CheckText;
  close(): Promise<void>;
}

export function postedThread({
  clock,
  entry = ENTRY,
  catalogOf,
}: ThreadSettings & { readonly catalogOf: CatalogIfHeld }): PostedThread {
  const thread = taskThread<DefinitionTask, DefinitionAnswer>({
    entry,
    memoryMb: MEMORY_MB,
    clock,
    maxWaiting: MAX_WAITING,
    answerMs: POSTED_ANSWER_MS,
  });
  return {
    check: async (posted) => {
      const { file, name, of } = posted;
      const catalog = of === undefined ? NO_SETTINGS : await catalogOf(of.settings);
      const [known, unchecked] = typeof catalog === 'string' ? [undefined, catalog] : [catalog, null];
      const task = { kind: 'posted', ...posted, catalog: known, now: clock.now() } as const;
      const outcome = await thread.run(name.org, task, POSTED_DEADLINE_MS);
      if (outcome.kind === 'full' || outcome.kind === 'late') throw busy(outcome.kind);
      if (outcome.kind === 'over') return { faults: [overLimit(file, limit(POSTED_DEADLINE_MS))], unchecked: null };
      const faults = outcome.answer.kind === 'posted' ? outcome.answer.faults : [];
      return { faults, unchecked: faults.length > 0 ? null : unchecked };
    },
    close: () => thread.close(),
  };
}

const NO_SETTINGS = 'The organization’s org.yaml has a fault: recipients and calendar were not looked at either.';

const busy = (why: 'full' | 'late') =>
  new DocketError('definition.busy', 'Too many definitions are being checked.', {
    expected:
      why === 'full'
        ? `at most ${MAX_WAITING.owner} of an organization at a time`
        : `an answer within ${POSTED_ANSWER_MS / 1000} s`,
    next: 'Send it again in some seconds.',
  });
