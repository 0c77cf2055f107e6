import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { denialView } from '../../admin/api/denials.ts';
import { receivedView } from '../../admin/api/schemas.ts';
import { DocketError } from '../../base/error.ts';
import { loadDefinitions } from '../../compose/built-in-kinds.ts';
import { withDecisions } from '../../compose/decisions.ts';
import { addressKey } from '../../definitions/allow-lists/recipients.ts';
import { createDenialService, type Denial } from '../../services/denials/denial-service.ts';
import { findMentions } from '../../services/listings/address-mentions.ts';
import { createArchivedDeliveries } from '../../services/listings/archived-deliveries.ts';
import { listReceived } from '../../services/listings/received.ts';
import { createContext } from '../context.ts';
import { type CommandIo, resolvePath } from '../io.ts';
import { readActor } from '../options/actor.ts';
import { invalidOption, parseNumber } from '../options/option-parsers.ts';
import { timesFor } from '../terminal/local-times.ts';
import { type Column, createPrinter } from '../terminal/print.ts';
import { instantCell } from '../terminal/table/cell.ts';
import { printReceived } from './deliveries.ts';
import { warnOfOlder } from './switches.ts';

interface DenyFlags {
  readonly file?: string;
  readonly remove?: boolean;
  readonly reason?: string;
  readonly by?: string;
  readonly wide?: boolean;
  readonly json?: boolean;
}

interface RecipientsFlags {
  readonly of: string;
  readonly limit: string;
  readonly wide?: boolean;
  readonly json?: boolean;
}

const COLUMNS: readonly Column[] = [
  { name: 'DENIED', cut: 'middle' },
  { name: 'SINCE', whenNarrow: 'keep' },
  { name: 'BY', whenNarrow: 'drop', rank: 1 },
  { name: 'REASON', whenNarrow: 'drop-last' },
];

/** Lists the deny list, adds to it, or removes from it. */
export async function deny(names: readonly string[], flags: DenyFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const { file, remove = false, reason, by } = flags;
  const context = await createContext(io);
  const table = (entries: readonly Denial[]): void => {
    const times = timesFor(io, context.clock.now(), { wide: flags.wide });
    const rows = entries.map((each) => [each.name, instantCell(each.since, times), each.by, each.reason]);
    print.printTable(COLUMNS, rows, { wide: flags.wide });
  };
  if (names.length === 0 && file === undefined) {
    if (remove || reason !== undefined) throw usage('No address given.');
    const denied = await withDecisions(context, (opened) => createDenialService(opened).list());
    if (flags.json) return print.printJson({ denied: denied.map(denialView) });
    if (denied.length === 0) return print.printLine('Nobody is denied.');
    return table(denied);
  }
  if (names.length > 0 && file !== undefined) throw usage('Give addresses or --file, not both.');
  if (reason === undefined) throw usage('A change of the deny list needs a reason.');
  const actor = readActor({ reason, ...(by === undefined ? {} : { by }) });
  const text = file === undefined ? names.join('\n') : await readList(file, io);
  await withDecisions(
    context,
    async (opened) => {
      const service = createDenialService(opened);
      const changed = await service[remove ? 'allow' : 'deny'](text, actor);
      if (flags.json) print.printJson({ denied: changed.map(denialView) });
      else if (changed.length === 0) print.printLine(remove ? 'None was in the list.' : 'All are in the list already.');
      else {
        print.printLine(`${remove ? 'Removed from' : 'Added to'} the deny list: ${changed.length}`);
        table(changed);
      }
      await warnOfOlder(opened, print);
    },
    { decides: true },
  );
}

/** Lists the definitions that name an address, and what it received. */
export async function recipients({ of, limit, wide, json }: RecipientsFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const max = parseNumber('--limit', limit, { min: 1, max: 1000 });
  if (addressKey(of.trim()) === undefined) throw invalidOption('--of', of, 'one address, without a display name');
  const context = await createContext(io);
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS);
  const [mentions, { denial, page }] = await Promise.all([
    findMentions(of, jobs, '*'),
    withDecisions(context, async (opened) => ({
      denial: (await opened.denials.list()).find(of.trim()),
      page: await listReceived(
        { orgs: '*', to: of, limit: max },
        { ...opened, archivedDeliveries: createArchivedDeliveries(opened) },
      ),
    })),
  ]);
  const { deliveries, next, error } = page;
  if (json) {
    const denied = denial === undefined ? null : denialView(denial);
    return print.printJson({ denied, mentions, deliveries: deliveries.map(receivedView), next, error });
  }
  const times = timesFor(io, context.clock.now(), { wide });
  if (denial !== undefined)
    print.printText(`Denied (${denial.name}) since ${times.exact(denial.since)} by ${denial.by}: ${denial.reason}`);
  if (mentions.length === 0) print.printLine('No definition names this address.');
  for (const { file, line, field } of mentions) print.printLine(`${file}:${line} ${field}`);
  print.printLine();
  printReceived(page, wide, context, io);
}

const readList = async (file: string, io: CommandIo): Promise<string> =>
  (file === '-' ? readAll(io.stdin) : readFile(resolvePath(file, io), 'utf8')).catch((cause: unknown) => {
    throw new DocketError('usage.invalid', `The file ${file} cannot be read.`, {
      expected: 'a text file with addresses and domains',
      next: 'Nothing was changed. Check --file; - reads standard input.',
      cause,
    });
  });

const usage = (message: string): DocketError =>
  new DocketError('usage.invalid', message, {
    expected: 'docket deny <address|domain>…|--file <path> [--remove] --reason "…"',
    next: 'See docket deny --help.',
  });
