import { reviewView } from '../../../admin/api/runs/review-view.ts';
import { timelineView } from '../../../admin/api/runs/timeline.ts';
import { deliveryView } from '../../../admin/api/schemas.ts';
import { DocketError } from '../../../base/error.ts';
import { createContext } from '../../context.ts';
import { type CommandIo, relativePath } from '../../io.ts';
import { assertOrgWithReport } from '../../options/option-parsers.ts';
import { findLastRunId, LAST_RUN } from '../../options/run-id.ts';
import { timesFor } from '../../terminal/local-times.ts';
import { createPrinter } from '../../terminal/print.ts';
import { isTerminal } from '../../terminal/style.ts';
import { loadRunWithArchive } from './load-run.ts';
import { runCommands } from './run-commands.ts';
import { formatRun } from './run-text.ts';

interface ShowFlags {
  readonly org?: string;
  readonly report?: string;
  readonly wide?: boolean;
  readonly json?: boolean;
}

export async function show(text: string, flags: ShowFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  assertFiltersOfLast(text, flags);
  const context = await createContext(io);
  const run = await loadRunWithArchive(context, text === LAST_RUN ? await findLastRunId(context, flags) : text, io);
  if (flags.json) {
    const { id, record, rows, held, review, archived, timeline } = run;
    return print.printJson({
      id,
      record: record ?? null,
      deliveries: rows.map(deliveryView),
      folder: archived?.location ?? null,
      manifest: archived?.manifest ?? null,
      receipts: archived?.receipts ?? [],
      attempts: archived?.attempts ?? [],
      release: archived?.release ?? null,
      held: held ?? null,
      review: review === undefined ? null : reviewView(review),
      ...(timeline === undefined ? { timeline: null, waits: null, earlier: null } : timelineView(timeline)),
    });
  }
  const terminal = isTerminal(io.stdout, io.env);
  const wide = flags.wide ?? !terminal;
  const times = timesFor(io, context.clock.now(), { wide });
  print.printText(
    formatRun(run, { wide, times, folderOf: (folder) => (terminal ? relativePath(folder, io) : folder) }).join('\n'),
  );
  print.printNext(runCommands(run), { always: true });
}

function assertFiltersOfLast(text: string, flags: ShowFlags): void {
  assertOrgWithReport(flags);
  if (text === LAST_RUN || flags.org === undefined) return;
  throw new DocketError('usage.invalid', 'The option requires the run `last`.', {
    where: '--org',
    expected: 'docket runs show last --org <org>',
    next: 'Leave --org and --report out: an id names one run.',
  });
}
