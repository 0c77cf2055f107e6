import { formatCounted } from '../../../admin/page/components/format-numbers.ts';
import { DocketError } from '../../../base/error.ts';
import { MINUTE_MS } from '../../../base/time.ts';
import type { BudgetLimits } from '../../../fetch/rate-limit/budget.ts';
import type { CommandIo } from '../../io.ts';
import { createPrinter } from '../../terminal/print.ts';
import { isTerminal } from '../../terminal/style.ts';

/** Runs that a backfill opens without a question. */
const MAX_UNASKED = 20;

export interface BackfillCost {
  readonly runs: number;
  /** Metrics calls; undefined without a metric catalog. */
  readonly calls: number | undefined;
  /** Of the API key. */
  readonly limits: BudgetLimits;
}

/**
 * Says what a backfill costs, on stderr, and asks above 20 runs. Without a terminal, and with `json`, `yes` is needed instead.
 * Throws `usage.invalid`, and `run.cancelled` for no.
 */
export async function confirmBackfill(
  report: string,
  cost: BackfillCost,
  { yes = false, json = false }: { readonly yes?: boolean | undefined; readonly json?: boolean | undefined },
  io: CommandIo,
): Promise<void> {
  const text = describeCost(cost);
  createPrinter(io).printStatus(`${report}: ${text}`);
  if (yes || cost.runs <= MAX_UNASKED) return;
  if (json || io.stdin.isTTY !== true || !isTerminal(io.stderr, io.env)) {
    throw new DocketError('usage.invalid', `A backfill of more than ${MAX_UNASKED} runs needs --yes.`, {
      where: '--from, --to',
      expected: `--yes, or at most ${MAX_UNASKED} runs`,
      got: text,
      next: 'Nothing was enqueued. Add --yes, or choose a shorter range.',
    });
  }
  const { confirm, isCancel } = await import('@clack/prompts');
  const answer = await confirm({
    message: `Enqueue ${cost.runs} runs?`,
    initialValue: false,
    input: io.stdin,
    output: io.stderr,
  });
  if (answer === true) return;
  // During a prompt, Ctrl-C is a key, not a signal.
  if (isCancel(answer)) io.exitCode = 130;
  throw new DocketError('run.cancelled', 'Nothing was enqueued.', {
    next: 'Choose a shorter range, or give --yes to enqueue them without a prompt.',
  });
}

/** `352 runs, up to 1,408 calls, about 47 minutes at 30 calls in 60 s`. */
function describeCost({ runs, calls, limits }: BackfillCost): string {
  const { calls: perWindow, windowMs } = limits;
  if (calls === undefined)
    return `${formatCounted(runs, 'run')}; calls and minutes are unknown without a metric catalog.`;
  const minutes = Math.ceil((Math.ceil(calls / perWindow) * windowMs) / MINUTE_MS);
  return `${formatCounted(runs, 'run')}, up to ${formatCounted(calls, 'call')}, about ${formatCounted(minutes, 'minute')} at ${perWindow} calls in ${windowMs / 1000} s.`;
}
