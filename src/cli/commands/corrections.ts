import { correctionBody, correctionViewBody } from '../../admin/api/runs/corrections.ts';
import { formatFigures } from '../../admin/page/components/format-numbers.ts';
import type { AppContext } from '../../base/context.ts';
import { loadDefinitions } from '../../compose/built-in-kinds.ts';
import { type DecisionContext, withDecisions } from '../../compose/decisions.ts';
import { runNotFoundError } from '../../run/run-record.ts';
import {
  type CorrectionService,
  type CorrectionView,
  requireCorrection,
} from '../../services/corrections/correction-service.ts';
import { type DefinitionChoice, requireCurrent } from '../../services/corrections/open-correction.ts';
import { currentReport } from '../../services/definitions/current-report.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { type ActorFlags, readActor } from '../options/actor.ts';
import { requireRunId } from '../options/run-id.ts';
import { assertSees, signedInOperator } from '../options/sign-in.ts';
import { timesFor } from '../terminal/local-times.ts';
import { type Column, createPrinter } from '../terminal/print.ts';
import { instantCell, stateCell } from '../terminal/table/cell.ts';
import { readCommentFile } from './reviews/comment.ts';

interface ListFlags {
  readonly org?: string;
  readonly all?: boolean;
  readonly wide?: boolean;
  readonly json?: boolean;
}

const RUN_DIGITS = 8;
/** The first digits of the run's id and the number of the correction, for typing. */
const shortId = ({ run, number }: Pick<CorrectionView, 'run' | 'number'>): string =>
  `${run.id.slice(0, RUN_DIGITS)}-${number}`;

const COLUMNS: readonly Column[] = [
  { name: 'FOUND', whenNarrow: 'keep' },
  { name: 'STATE', whenNarrow: 'keep' },
  { name: 'REPORT', cut: 'report' },
  { name: 'FIGURES', whenNarrow: 'keep' },
  { name: 'CORRECTION', whenNarrow: 'keep' },
  { name: 'DECIDED BY', whenNarrow: 'drop', rank: 2 },
  { name: 'REASON', whenNarrow: 'drop', rank: 1 },
];

/** Corrections are decided with the settings on this machine. Without definitions, no recipient can be refused. */
async function withCorrections<T>(
  context: AppContext,
  use: (corrections: CorrectionService, opened: DecisionContext) => Promise<T>,
  options: { readonly decides?: boolean; readonly definitions?: boolean } = {},
): Promise<T> {
  const orgs = options.definitions ? (await loadDefinitions(context.config.DOCKET_JOBS)).orgs : new Map();
  return withDecisions(context, (opened) => use(opened.correctionService, opened), { ...options, orgs: () => orgs });
}

export async function list(flags: ListFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const { org, all, wide } = flags;
  const found = await withCorrections(context, (corrections) => corrections.list(org === undefined ? '*' : [org]));
  const shown = found.filter(({ state }) => all || state === 'open');
  if (flags.json) return print.printJson({ corrections: shown.map(correctionBody) });
  if (shown.length === 0) return print.printLine(all ? 'No corrections.' : 'No correction waits for a decision.');
  const times = timesFor(io, context.clock.now(), { wide });
  print.printTable(
    COLUMNS,
    shown.map((correction) => {
      const { id, run, state, foundAt, material, decision, byHand } = correction;
      return [
        instantCell(foundAt, times),
        stateCell(state),
        `${run.org}/${run.report}`,
        byHand ? 'by hand' : String(material),
        { exact: id, brief: shortId(correction) },
        decision?.by ?? '',
        decision?.reason ?? '',
      ];
    }),
    { wide },
  );
  const [open] = shown.filter(({ state }) => state === 'open');
  if (open === undefined) return;
  print.printNext([
    { command: `docket corrections show ${shortId(open)}`, why: 'shows what has changed, and who would receive it' },
  ]);
}

const CHANGE_COLUMNS: readonly Column[] = [
  { name: 'SECTION', cut: 'middle' },
  { name: 'METRIC', whenNarrow: 'keep' },
  { name: 'OF', cut: 'middle' },
  { name: 'DELIVERED', whenNarrow: 'keep' },
  { name: 'NOW', whenNarrow: 'keep' },
  { name: 'STATUS', whenNarrow: 'drop', rank: 1 },
];
/** Maximum changes listed on a terminal. */
const MAX_SHOWN = 30;

export async function show(
  id: string,
  flags: { readonly wide?: boolean; readonly json?: boolean },
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const view = await withCorrections(context, (corrections) => requireCorrection(id, '*', corrections), {
    definitions: true,
  });
  if (flags.json) return print.printJson(correctionViewBody(view));
  printCorrection(view, { ...flags, now: context.clock.now() }, io);
}

function printCorrection(
  view: CorrectionView,
  { wide, now }: { readonly wide?: boolean; readonly now: number },
  io: CommandIo,
): void {
  const print = createPrinter(io);
  const times = timesFor(io, now, { wide });
  const { title, period, run, state, foundAt, deliveredAt, changes, material, total, decision, byHand } = view;
  print.printText(`${title}, ${period.label} (${run.org}/${run.report}, run ${run.id.slice(0, RUN_DIGITS)})`);
  print.printText(
    `${deliveredAt === null ? '' : `Delivered ${times.exact(deliveredAt)}. `}${byHand ? 'Opened' : 'Found'} ${times.exact(foundAt)}${byHand ? '.' : `: ${material === 1 ? '1 figure has' : `${material} figures have`} changed materially${total === material ? '' : `, ${total} in all`}.`}`,
  );
  print.printText(
    decision === null
      ? `State: ${state}.`
      : `State: ${state}, by ${decision.by} at ${times.exact(decision.at)}: ${decision.reason}${decision.run === null ? '' : ` (run ${decision.run.slice(0, RUN_DIGITS)})`}`,
  );
  if (view.ended) print.printText('That run has ended, and nobody has received a corrected edition.');
  print.printLine();
  if (byHand) {
    printRecipients(view, io);
    return;
  }
  const sections = new Map(view.sections.map((section) => [section.id, section]));
  print.printTable(
    CHANGE_COLUMNS,
    (wide ? changes : changes.slice(0, MAX_SHOWN)).map(
      ({ section, metric, value, bucket, group, within, before, after, statusBefore, statusAfter }) => {
        const unit = sections.get(section)?.units[metric] ?? null;
        const parts = [value, bucket, group?.value, within?.value].filter((part) => part != null);
        return [
          sections.get(section)?.title ?? section,
          metric,
          parts.length === 0 ? 'total' : parts.join(', '),
          ...formatFigures(before, after, unit),
          statusBefore === statusAfter ? '' : `${statusBefore ?? '–'} → ${statusAfter ?? '–'}`,
        ];
      },
    ),
    { wide },
  );
  if (!wide && total > MAX_SHOWN) print.printText(`… and ${total - MAX_SHOWN} more: --wide lists them.`);
  print.printLine();
  printRecipients(view, io);
  if (state !== 'open') return;
  print.printNext([
    { command: `docket corrections send ${shortId(view)} --reason "…"`, why: 'sends a corrected edition' },
    { command: `docket corrections dismiss ${shortId(view)} --reason "…"`, why: 'keeps the delivered one' },
  ]);
}

/** Who would get a corrected edition, and how. */
function printRecipients({ recipients }: Pick<CorrectionView, 'recipients'>, io: CommandIo): void {
  const { printText } = createPrinter(io);
  printText('A corrected edition goes to:');
  for (const { recipient, receives, why, marked } of recipients) {
    printText(`  ${recipient}${receives ? (marked ? '' : '  (without the mark)') : `  not sent: ${why ?? ''}`}`);
  }
}

interface OpenFlags extends DecisionFlags {
  readonly commentFile?: string;
  readonly definition?: DefinitionChoice;
}

/** Sends a corrected edition of a delivered run, as the person of a token or as the user of the shell. */
export async function open(text: string, flags: OpenFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const { by: shell, reason } = readActor(flags);
  const comment = flags.commentFile === undefined ? undefined : await readCommentFile(flags.commentFile, io);
  const context = await createContext(io);
  const principal = await signedInOperator(context, io);
  const author = principal === undefined ? { by: shell } : { by: principal.name, subject: principal.subject };
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS);
  await withDecisions(
    context,
    async ({ correctionService, runs }) => {
      const id = await requireRunId(text, runs);
      if (principal !== undefined) await assertSees(principal, id, runs);
      const record = await runs.get(id);
      if (record === undefined) throw runNotFoundError(id);
      const { org, report } = record;
      const lastGood = async () => undefined;
      const definition =
        flags.definition === 'current'
          ? requireCurrent(await currentReport({ jobs: () => jobs, lastGood }, org, report))
          : undefined;
      const opened = await correctionService.open({ id, org, report }, { reason, comment, definition }, author);
      const { correction } = opened;
      const run = opened.record.id;
      if (flags.json) return print.printJson({ correction: correctionViewBody(correction), run });
      print.printText(`The corrected edition of ${correction.title} ${correction.period.label} is queued.`);
      printRecipients(correction, io);
      print.printNext([{ command: `docket runs show ${run.slice(0, RUN_DIGITS)}`, why: 'the result' }]);
    },
    { decides: true, orgs: () => jobs.orgs },
  );
}

type DecisionFlags = ActorFlags & { readonly json?: boolean };
type Decide = (
  correction: CorrectionView,
  actor: ReturnType<typeof readActor>,
  corrections: CorrectionService,
) => Promise<{ readonly json: unknown; readonly text: string }>;

async function decide(id: string, flags: DecisionFlags, io: CommandIo, decision: Decide): Promise<void> {
  const print = createPrinter(io);
  const actor = readActor(flags);
  const context = await createContext(io);
  await withCorrections(
    context,
    async (corrections) => {
      const found = await requireCorrection(id, '*', corrections);
      const { json, text } = await decision(found, actor, corrections);
      if (flags.json) print.printJson(json);
      else print.printText(text);
    },
    { decides: true, definitions: true },
  );
}

export const send = (id: string, flags: DecisionFlags, io: CommandIo): Promise<void> =>
  decide(id, flags, io, async (found, actor, corrections) => {
    const { correction, record } = await corrections.send(found, actor);
    return {
      json: { correction: correctionBody(correction), run: record.id },
      text: `The corrected edition of ${found.title} ${found.period.label} is queued; \`docket runs show ${record.id}\` shows the result.`,
    };
  });

export const dismiss = (id: string, flags: DecisionFlags, io: CommandIo): Promise<void> =>
  decide(id, flags, io, async (found, actor, corrections) => ({
    json: correctionBody(await corrections.dismiss(found, actor)),
    text: 'Dismissed: the delivered edition stays, and the same changes are not reported again.',
  }));
