import type { ValidateText } from '../../admin/access/definitions.ts';
import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import { taskThread } from '../../base/task-thread.ts';
import type { GetCachedCatalog } from '../../compose/catalogs.ts';
import { overLimitDiagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import type { DefinitionParser } from '../../definitions/load/parse-definitions.ts';
import type { DefinitionAnswer, DefinitionTask } from './definition-tasks.ts';

const THREAD_ENTRY = new URL('./definition-thread.js', import.meta.url);

/** Of a thread. The largest definition that may be takes a fraction. */
const MEMORY_MB = 256;
/** Somebody waits for the answer. */
const VALIDATION_TIMEOUT_MS = 1_500;
/** The same from when it was posted, with the wait for its turn and for a thread. */
const VALIDATION_ANSWER_TIMEOUT_MS = 1_900;
/** Of each file of a folder. */
const FILE_TIMEOUT_MS = 10_000;
/** Texts that wait to be checked: of one organization, and of all. */
const MAX_WAITING = { owner: 4, all: 32 };

const describeLimit = (deadlineMs: number) => `${deadlineMs / 1000} s and ${MEMORY_MB} MB`;

interface ThreadSettings {
  readonly clock: Clock;
  /** Another thread than Docket's own, for tests. */
  readonly entry?: URL;
}

/** Reads the files of a folder in a thread. It is there while it is needed. */
export interface ReaderThread {
  readonly reader: DefinitionParser;
  close(): Promise<void>;
}

/**
 * A file that takes too much time or memory has a fault, and the others are read.
 * @param positions keeps where the values of a file are, for faults that are found later
 */
export function startReaderThread(settings: ThreadSettings & { readonly positions: boolean }): ReaderThread {
  const { clock, positions, entry = THREAD_ENTRY } = settings;
  const thread = taskThread<DefinitionTask, DefinitionAnswer>({ entry, memoryMb: MEMORY_MB, clock });
  const ask = async (task: DefinitionTask): Promise<DefinitionAnswer | undefined> => {
    const outcome = await thread.run('', task, FILE_TIMEOUT_MS);
    return outcome.kind === 'done' ? outcome.answer : undefined;
  };
  const givenUp = (text: string, file: string) => ({
    source: { file, text, lines: new Uint32Array() },
    diagnostics: [overLimitDiagnostic(file, describeLimit(FILE_TIMEOUT_MS))],
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
export interface ValidationThread {
  readonly validate: ValidateText;
  close(): Promise<void>;
}

export function startValidationThread({
  clock,
  entry = THREAD_ENTRY,
  catalogOf,
}: ThreadSettings & { readonly catalogOf: GetCachedCatalog }): ValidationThread {
  const thread = taskThread<DefinitionTask, DefinitionAnswer>({
    entry,
    memoryMb: MEMORY_MB,
    clock,
    maxWaiting: MAX_WAITING,
    responseTimeoutMs: VALIDATION_ANSWER_TIMEOUT_MS,
  });
  return {
    validate: async (posted) => {
      const { file, name, of } = posted;
      const catalog = of === undefined ? NO_SETTINGS : await catalogOf(of.settings);
      const [known, unchecked] = typeof catalog === 'string' ? [undefined, catalog] : [catalog, null];
      const task = { kind: 'posted', ...posted, catalog: known, now: clock.now() } as const;
      const outcome = await thread.run(name.org, task, VALIDATION_TIMEOUT_MS);
      if (outcome.kind === 'full' || outcome.kind === 'late') throw busyError(outcome.kind);
      if (outcome.kind === 'over')
        return { faults: [overLimitDiagnostic(file, describeLimit(VALIDATION_TIMEOUT_MS))], unchecked: null };
      const faults = outcome.answer.kind === 'posted' ? outcome.answer.faults : [];
      return { faults, unchecked: faults.length > 0 ? null : unchecked };
    },
    close: () => thread.close(),
  };
}

const NO_SETTINGS = 'The organization’s org.yaml has a fault: recipients and calendar were not looked at either.';

const busyError = (why: 'full' | 'late') =>
  new DocketError('definition.busy', 'Too many definitions are being checked.', {
    expected:
      why === 'full'
        ? `at most ${MAX_WAITING.owner} of an organization at a time`
        : `an answer within ${VALIDATION_ANSWER_TIMEOUT_MS / 1000} s`,
    next: 'Send it again in some seconds.',
  });
