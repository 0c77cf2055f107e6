import { DocketError } from '../../../base/error.ts';
import { loadDefinitions, requireReport } from '../../../compose/built-in-kinds.ts';
import { parsePeriod } from '../../../definitions/periods/period.ts';
import { assertSplitValue, isHeldPack } from '../../../definitions/split.ts';
import { assertMailConfigured } from '../../../deliver/targets/email/mail-routes.ts';
import { messagesFor } from '../../../i18n/messages.ts';
import { fewStatusText } from '../../../render/figures/status-text.ts';
import type { RunOrder } from '../../../run/run-record.ts';
import type { RunResult } from '../../../run/run-result.ts';
import { createContext } from '../../context.ts';
import { type CommandIo, relativePath, resolvePath } from '../../io.ts';
import { readActorName } from '../../options/actor.ts';
import { deliveryLines } from '../../terminal/delivery-groups.ts';
import type { NextCommand } from '../../terminal/next-commands.ts';
import { formatFileGroup, groupFiles } from '../../terminal/output-groups.ts';
import { createPrinter } from '../../terminal/print.ts';
import { withRepeatConfirmation } from './confirm-repeat.ts';
import { runAgainCommand } from './run-commands.ts';

interface RunFlags {
  readonly period?: string;
  readonly value?: string;
  readonly out?: string;
  readonly deliver: boolean;
  readonly again?: boolean;
  readonly unfinished?: boolean;
  readonly fresh?: boolean;
  readonly queue?: boolean;
  readonly wait?: boolean;
  readonly json?: boolean;
}

export async function runReport(report: string, flags: RunFlags, io: CommandIo): Promise<void> {
  const { deliver, again = false, unfinished = false, wait = false, json = false } = flags;
  if (wait && !flags.queue) {
    throw new DocketError('usage.invalid', 'The option requires --queue.', {
      where: '--wait',
      expected: '--queue as well',
      next: 'Add --queue, or leave --wait out.',
    });
  }
  if (flags.queue) {
    const { enqueueRun } = await import('./enqueue-run.ts');
    const period = flags.period === undefined ? undefined : parsePeriod(flags.period);
    return enqueueRun(report, { period, value: flags.value, deliver, again, unfinished, wait, json }, io);
  }
  const { runInline } = await import('../../run-inline.ts');
  const context = await createContext(io);
  const definitions = await loadDefinitions(context.config.DOCKET_JOBS);
  const { definition, settings } = requireReport(definitions, report);
  assertSplitValue(definition, flags.value, { deliver });
  if (deliver) assertMailConfigured(definition, settings, context.config, '--no-deliver only creates the files');
  const by = readActorName();
  const request = {
    definition,
    settings,
    orgs: definitions.orgs,
    fresh: flags.fresh,
    period: flags.period === undefined ? undefined : parsePeriod(flags.period),
    unfinished,
    value: flags.value,
    out: ({ period }: RunOrder) => resolvePath(flags.out ?? `out/${report}/${period.label}`, io),
  };
  const { order, result } = await withRepeatConfirmation({ again, json }, io, (force) =>
    runInline({ ...request, deliver: deliver && { by, again: force } }, context, io),
  );
  const print = createPrinter(io);
  if (json) print.printJson(runDocument(order, result));
  else print.printText(formatResult(order, result, relativePath(result.folder, io)));
  if (!json && result.state !== 'done' && deliver) {
    // With a private Redis, the files are only in --out.
    const archived = Boolean(io.env.REDIS_URL?.trim());
    print.printNext(undeliveredCommands(order, result, archived), { always: result.state === 'partly_delivered' });
  }
  io.exitCode = result.state === 'done' ? 0 : 3;
}

/**
 * Commands for failed deliveries: no worker picks up this run by itself. @param archived whether a worker can access
 * its files
 */
function undeliveredCommands(order: RunOrder, { receipts }: RunResult, archived: boolean): readonly NextCommand[] {
  const run = order.id.slice(0, 8);
  // A held pack has no recipients, so a retry would be refused.
  const failed = receipts.some((each) => !isHeldPack(each) && (each.state === 'pending' || each.state === 'refused'));
  const next = archived
    ? {
        command: `docket runs retry ${run} --reason "…"`,
        why: 'a worker sends the same files to the recipients who did not get them',
      }
    : { command: `${runAgainCommand(order)} --again`, why: 'sends it to all again: its files are not in the archive' };
  return [...(failed ? [next] : []), { command: `docket runs show ${run}`, why: 'shows why, and what to do' }];
}

/** The JSON document, in snake case like the API and the manifest. */
const runDocument = (order: RunOrder, result: RunResult) => ({
  run: order.id,
  org: order.org,
  report: order.report,
  state: result.state,
  period: order.period,
  ...(order.sectionPeriods === undefined ? {} : { section_periods: order.sectionPeriods }),
  folder: result.folder,
  files: result.files.map(({ name, format, path, bytes, sha256 }) => ({ name, format, path, bytes, sha256 })),
  calls: result.calls.map(({ asOf, correlationId, ...call }) => ({
    ...call,
    as_of: asOf,
    correlation_id: correlationId,
  })),
  readings: result.readings ?? [],
  headlines: result.headlines ?? [],
  targets: result.targets ?? [],
  judgements: result.judgements ?? [],
  incomplete: result.incomplete.map(({ section, code, text }) => ({ section, code, text })),
  deliveries: result.receipts.map(({ delivery, messageId, ...receipt }) => ({
    id: delivery,
    ...receipt,
    message_id: messageId,
  })),
});

/** @param folder with its files, in the form to print */
const formatResult = (order: RunOrder, result: RunResult, folder: string): string =>
  [
    `${order.org}/${order.report} ${order.period.label}: ${result.state.replaceAll('_', ' ')}, ${result.calls.length} API calls`,
    ...(result.headlines ?? []).map((headline) => `  ${headline}`),
    ...[fewStatusText(result.fewStatuses ?? {}, messagesFor())].flatMap((few) => (few === '' ? [] : [`  ${few}`])),
    ...result.incomplete.map(({ section, text }) => `  ! ${section}: ${text}`),
    ...(result.files.length === 0 ? [] : [`  ${folder}/`]),
    ...groupFiles(result.files).map((group) => `    ${formatFileGroup(group)}`),
    ...deliveryLines(result.receipts).map((line) => `  ${line}`),
  ].join('\n');
