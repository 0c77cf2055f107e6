import { selectionBody } from '../../../admin/api/runs/selections.ts';
import { DocketError } from '../../../base/error.ts';
import { type DecisionContext, withDecisions } from '../../../compose/decisions.ts';
import type { SelectionAction } from '../../../queue/runs/selections.ts';
import { createSelectionService } from '../../../services/selections/create-selection-service.ts';
import type { SelectionRequest, SelectionView } from '../../../services/selections/selection-service.ts';
import { createContext } from '../../context.ts';
import type { CommandIo } from '../../io.ts';
import { type ActorFlags, readActor } from '../../options/actor.ts';
import { assertOrgWithReport, parseInstant, parseRunStates } from '../../options/option-parsers.ts';
import { type RunPartsFlags, readRunParts } from '../../options/run-parts.ts';
import { localZone } from '../../terminal/local-times.ts';
import { type Column, createPrinter } from '../../terminal/print.ts';
import { isTerminal } from '../../terminal/style.ts';
import { idCells } from '../../terminal/table/cell.ts';

/** The options of commands that can decide about many items. */
export interface ManyFlags extends RunPartsFlags {
  readonly org?: string;
  readonly report?: string;
  readonly state?: readonly string[];
  readonly since?: string;
  readonly until?: string;
  /** The digest of a preview. */
  readonly confirm?: string;
  readonly json?: boolean;
}

/** Whether these options select more than a single run or delivery. */
export const hasFilter = ({ org, report, match, to, error, period, state, since, until }: ManyFlags): boolean =>
  [org, report, match, to, error, period, state, since, until].some((value) => value !== undefined);

/**
 * Decides about many items: prints a preview, and asks for confirmation. Without a terminal it stops after the preview;
 * a second call with `--confirm` and the printed digest then decides about exactly these items.
 *
 * @param ids full ids
 */
export async function decideMany(
  action: SelectionAction,
  idsOf: (opened: DecisionContext) => Promise<readonly string[]>,
  flags: ManyFlags & ActorFlags,
  { command, io }: { readonly command: string; readonly io: CommandIo },
): Promise<void> {
  const print = createPrinter(io);
  const actor = readActor(flags);
  assertOrgWithReport(flags);
  const context = await createContext(io);
  await withDecisions(
    context,
    async (opened) => {
      const service = createSelectionService(opened, opened.decisions);
      const ids = await idsOf(opened);
      const request = async (): Promise<SelectionRequest> => {
        if (!hasFilter(flags)) return { action, ids };
        if (ids.length > 0) throw bothError();
        const { org, report, state, since, until } = flags;
        const at = { now: context.clock.now(), zone: localZone(io.env) };
        const parts = await readRunParts(flags, org === undefined ? '*' : [org], opened);
        const filter = {
          org,
          report,
          ...parts,
          states: state === undefined ? undefined : parseRunStates('--state', state),
          since: since === undefined ? undefined : parseInstant('--since', since, at),
          until: until === undefined ? undefined : parseInstant('--until', until, at),
        };
        return { action, filter };
      };
      const selection =
        flags.confirm === undefined
          ? await service.preview(await request(), '*')
          : await service.find(flags.confirm, '*');
      if (selection.action !== action) throw otherActionError(selection);
      if (flags.confirm === undefined && !(await isConfirmed(selection, flags, { command, io }))) return;
      const decided = await service.decide(selection.digest, actor, '*');
      if (flags.json) return print.printJson(selectionBody(decided));
      printResult(decided, io);
    },
    { decides: action !== 'cancel' },
  );
}

const COLUMNS: readonly Column[] = [
  { name: 'STATE', whenNarrow: 'keep' },
  { name: 'REPORT', cut: 'report' },
  { name: 'PERIOD', whenNarrow: 'drop-last' },
  { name: 'RECIPIENT', cut: 'middle' },
  { name: 'RUN', whenNarrow: 'keep' },
];

/** Prints the preview. On a terminal, asks for confirmation. */
async function isConfirmed(
  selection: SelectionView,
  flags: ManyFlags & ActorFlags,
  { command, io }: { readonly command: string; readonly io: CommandIo },
): Promise<boolean> {
  const print = createPrinter(io);
  const { items, skipped, digest } = selection;
  if (flags.json) {
    print.printJson(selectionBody(selection));
    return false;
  }
  const idCell = idCells(items.map(({ run }) => run));
  const withRecipient = items.some(({ recipient }) => recipient !== null);
  print.printTable(
    COLUMNS.filter(({ name }) => withRecipient || name !== 'RECIPIENT'),
    items.map(({ state, org, report, period, recipient, run }) => [
      state,
      `${org}/${report}`,
      period ?? '',
      ...(withRecipient ? [recipient ?? ''] : []),
      idCell(run),
    ]),
  );
  for (const { id, why } of skipped) print.printStatus(`Left out: ${id.slice(0, 8)}: ${why}`);
  if (items.length === 0) {
    print.printLine('Nothing to decide.');
    return false;
  }
  print.printStatus(`${items.length} in all. Nothing was changed yet.`);
  const next = {
    command: `docket ${command} --confirm ${digest} --reason ${quoted(flags.reason)}`,
    why: 'decides about exactly what is listed',
  };
  if (io.stdin.isTTY !== true || !isTerminal(io.stderr, io.env)) {
    print.printNext([next], { always: true });
    return false;
  }
  const { confirm } = await import('@clack/prompts');
  const message = items.length === 1 ? 'Decide about this one?' : `Decide about these ${items.length}?`;
  if ((await confirm({ message, initialValue: false, input: io.stdin, output: io.stderr })) === true) return true;
  print.printNext([next]);
  return false;
}

/** Quotes a word for a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function printResult({ items, outcomes }: SelectionView, io: CommandIo): void {
  const print = createPrinter(io);
  const left = items.filter(({ id }) => outcomes.get(id)?.result !== 'decided');
  print.printLine(`${items.length - left.length} of ${items.length} carried out.`);
  for (const { id, org, report } of left) {
    print.printLine(`Left out: ${id.slice(0, 8)} ${org}/${report}: ${outcomes.get(id)?.why ?? 'not decided yet'}`);
  }
  if (left.length > 0) io.exitCode = 3;
}

const bothError = (): DocketError =>
  new DocketError('usage.invalid', 'Give either ids or filters.', {
    expected: 'ids, or filters such as --report and --state',
    got: 'both',
    next: 'See --help.',
  });

const otherActionError = ({ action }: SelectionView): DocketError =>
  new DocketError('usage.invalid', 'The preview belongs to another decision.', {
    where: '--confirm',
    expected: `the command that printed it: ${action}`,
    next: 'Use the command that the preview printed.',
  });
