import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import { taskThread } from '../../base/task-thread.ts';
import type { Catalog } from '../../contract/catalog.ts';
import { type Diagnostic, overLimitDiagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import type {
  DefinitionParser,
  LoadedOrg,
  ParsedReport,
  ReportText,
} from '../../definitions/load/parse-definitions.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { DefinitionAnswer, DefinitionTask } from './definition-tasks.ts';

/** Thread data: the first text gets the same short deadline as all others. */
export const WARM = 'warm';

/** Memory of a thread. The largest valid definition needs a fraction of it. */
const MEMORY_MB = 256;
/** Short, because a user waits for the response. */
const VALIDATION_TIMEOUT_MS = 1_500;
/** From submission to response, including the wait for a thread. */
const VALIDATION_ANSWER_TIMEOUT_MS = 1_900;
/** Limit for each file of a folder. */
const FILE_TIMEOUT_MS = 10_000;
/** How many texts of one organization, and in total, may be queued. */
const MAX_WAITING = { owner: 4, all: 32 };

const describeLimit = (deadlineMs: number) => `${deadlineMs / 1000} s and ${MEMORY_MB} MB`;

interface ThreadSettings {
  readonly clock: Clock;
  /** The thread's module, which calls `serveTasks` with `handleTask`. */
  readonly entry: URL;
}

/**
 * Parses a folder's files in a thread that runs only while needed. A file that takes too much time or memory gets a
 * diagnostic; the other files are still read.
 *
 * @param positions whether to keep the positions of values, for later diagnostics
 */
export function startReaderThread(settings: ThreadSettings & { readonly positions: boolean }): {
  readonly reader: DefinitionParser;
  close(): Promise<void>;
} {
  const { clock, positions, entry } = settings;
  const thread = taskThread<DefinitionTask, DefinitionAnswer>({ entry, memoryMb: MEMORY_MB, clock });
  const request = async (task: DefinitionTask): Promise<DefinitionAnswer | undefined> => {
    const outcome = await thread.run('', task, FILE_TIMEOUT_MS);
    return outcome.kind === 'done' ? outcome.answer : undefined;
  };
  const overLimit = (text: string, file: string) => ({
    source: { file, text, lines: new Uint32Array() },
    diagnostics: [overLimitDiagnostic(file, describeLimit(FILE_TIMEOUT_MS))],
  });
  const reports = async (texts: readonly ReportText[], of: LoadedOrg | undefined): Promise<readonly ParsedReport[]> => {
    const answer = await request({ kind: 'reports', positions, texts, of });
    const [first] = texts;
    if (answer?.kind === 'reports') {
      return answer.read.map(({ partial, ...read }, index) => {
        const text = texts[index]?.text ?? '';
        return { ...withText(read, text), ...(partial === undefined ? {} : { partial: withText(partial, text) }) };
      });
    }
    if (texts.length === 1 && first !== undefined) return [overLimit(first.text, first.file)];
    // Either one of them exceeds the limit, or all of them together do.
    const each: ParsedReport[] = [];
    for (const text of texts) each.push(...(await reports([text], of)));
    return each;
  };
  return {
    reader: {
      report: async (text, file, name, of) => {
        const [read = overLimit(text, file)] = await reports([{ text, file, name }], of);
        return read;
      },
      reports,
      settings: async (text, file) => {
        const answer = await request({ kind: 'settings', positions, text, file });
        return answer?.kind === 'settings' ? withText(answer.read, text) : overLimit(text, file);
      },
      targets: async (text, file) => {
        const answer = await request({ kind: 'targets', positions, text, file });
        return answer?.kind === 'targets' ? withText(answer.read, text) : { ...overLimit(text, file), isReport: false };
      },
    },
    close: () => thread.close(),
  };
}

const withText = <Read extends { readonly source: { readonly text: string } }>(read: Read, text: string): Read => ({
  ...read,
  source: { ...read.source, text },
});

/** Validates the text of a definition like `docket check`. Throws `definition.busy`. */
export type ValidateText = (submitted: {
  readonly text: string;
  readonly file: string;
  readonly name: { readonly org: string; readonly report: string };
  /** Undefined if the organization's settings cannot be read. */
  readonly of: LoadedOrg | undefined;
}) => Promise<{
  readonly faults: readonly Diagnostic[];
  /** Why the metric catalog was not checked; null if it was. */
  readonly unchecked: string | null;
}>;

/** The catalog that the workers have cached, or why it is missing. */
export type GetCachedCatalog = (settings: OrgSettings) => Promise<Catalog | string>;

/** Validates submitted texts in a separate thread, so that reading a folder does not delay them. */
export function startValidationThread({
  clock,
  entry,
  catalogOf,
}: ThreadSettings & { readonly catalogOf: GetCachedCatalog }): {
  readonly validate: ValidateText;
  close(): Promise<void>;
} {
  const thread = taskThread<DefinitionTask, DefinitionAnswer>({
    entry,
    data: WARM,
    memoryMb: MEMORY_MB,
    clock,
    maxWaiting: MAX_WAITING,
    responseTimeoutMs: VALIDATION_ANSWER_TIMEOUT_MS,
  });
  return {
    validate: async (submitted) => {
      const { file, name, of } = submitted;
      const catalog = of === undefined ? NO_SETTINGS : await catalogOf(of.settings);
      const [known, unchecked] = typeof catalog === 'string' ? [undefined, catalog] : [catalog, null];
      const task = { kind: 'posted', ...submitted, catalog: known, now: clock.now() } as const;
      const outcome = await thread.run(name.org, task, VALIDATION_TIMEOUT_MS);
      if (outcome.kind === 'queue_full' || outcome.kind === 'timeout') throw busyError(outcome.kind);
      if (outcome.kind === 'exceeded')
        return { faults: [overLimitDiagnostic(file, describeLimit(VALIDATION_TIMEOUT_MS))], unchecked: null };
      const faults = outcome.answer.kind === 'posted' ? outcome.answer.faults : [];
      return { faults, unchecked: faults.length > 0 ? null : unchecked };
    },
    close: () => thread.close(),
  };
}

const NO_SETTINGS = 'The organization’s org.yaml is invalid: recipients and calendar were not checked either.';

const busyError = (why: 'queue_full' | 'timeout') =>
  new DocketError('definition.busy', 'Too many definitions are being validated.', {
    expected:
      why === 'queue_full'
        ? `at most ${MAX_WAITING.owner} of an organization at a time`
        : `a result within ${VALIDATION_ANSWER_TIMEOUT_MS / 1000} s`,
    next: 'Try again in a few seconds.',
  });
