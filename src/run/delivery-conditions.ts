import { createHash } from 'node:crypto';
import { describeDelivery, targetName } from '../definitions/schema/kinds.ts';
import type { Definition } from '../definitions/schema/report-definition.ts';
import { meetsComparison, parseSendCondition, type SendCondition } from '../definitions/schema/send-condition.ts';
import type { FiguresDestination, LastSentFigures } from '../deliver/last-sent-figures.ts';
import { recipientKey, type SendDecision } from '../deliver/send-decision.ts';
import { TARGETS } from '../deliver/targets/registry.ts';
import type { Dataset, Row, Table } from '../fetch/dataset.ts';
import { rowBatches, type YieldToEventLoop } from '../fetch/rows.ts';

/**
 * SHA-256 (hex) over what the tables show: columns, values, the previous period's, totals. When it was computed, and how
 * its columns are called for readers, does not count. The event loop has a turn every few hundred rows.
 */
export async function hashFigures({ tables }: Pick<Dataset, 'tables'>, turn?: YieldToEventLoop): Promise<string> {
  const hash = createHash('sha256');
  for (const { id, columns, rows, totals } of tables) {
    const names = columns.map(({ name }) => name);
    const line = ({ values, compare }: Pick<Row, 'values' | 'compare'>): string =>
      `${JSON.stringify([names.map((name) => values[name] ?? null), compare && names.map((name) => compare[name] ?? null)])}\n`;
    hash.update(`${JSON.stringify([id, names])}\n`);
    for await (const batch of rowBatches(rows, turn)) hash.update(batch.map(line).join(''));
    if (totals !== undefined) hash.update(line(totals));
    hash.update('\n');
  }
  return hash.digest('hex');
}

const isNumber = (value: unknown): value is number => typeof value === 'number';

async function isEmpty({ columns, rows }: Table, turn?: YieldToEventLoop): Promise<boolean> {
  const metrics = columns.filter(({ kind }) => kind === 'metric');
  const filled = ({ values }: Row) =>
    metrics.length === 0 || metrics.some(({ name }) => isNumber(values[name]) && values[name] !== 0);
  for await (const batch of rowBatches(rows, turn)) if (batch.some(filled)) return false;
  return true;
}

async function evaluateNonEmpty(
  { tables }: Pick<Dataset, 'tables'>,
  turn?: YieldToEventLoop,
): Promise<ConditionResult> {
  for (const table of tables) {
    if (!(await isEmpty(table, turn))) return conditionResult(true, `${table.id} is not empty.`);
  }
  return conditionResult(false, 'Every list is empty and every metric 0 or undefined.');
}

type CompareCondition = Extract<SendCondition, { kind: 'compare' }>;

/** The figures that a comparison is about: a section's totals where it has them, else those of its rows. */
async function* comparedFigures(
  { tables }: Pick<Dataset, 'tables'>,
  { section, metric }: CompareCondition,
  turn?: YieldToEventLoop,
): AsyncGenerator<readonly (number | null)[]> {
  for (const { id, columns, rows, totals } of tables) {
    if (section !== undefined && id !== section) continue;
    if (!columns.some(({ kind, name }) => kind === 'metric' && name === metric)) continue;
    if (totals !== undefined) yield [totals.values[metric] ?? null];
    else {
      for await (const batch of rowBatches(rows, turn)) {
        yield batch.map(({ values: { [metric]: value } }) => (isNumber(value) ? value : null));
      }
    }
  }
}

type ConditionResult = Pick<SendDecision, 'send' | 'reason'>;

const conditionResult = (send: boolean, reason: string): ConditionResult => ({ send, reason });

async function evaluateComparison(
  dataset: Pick<Dataset, 'tables'>,
  condition: CompareCondition,
  turn?: YieldToEventLoop,
): Promise<ConditionResult> {
  const { metric, op, value } = condition;
  let seen = 0;
  for await (const figures of comparedFigures(dataset, condition, turn)) {
    const met = figures.find((figure) => meetsComparison(figure, op, value));
    if (met !== undefined) return conditionResult(true, `${metric} is ${met}, which is ${op} ${value}.`);
    seen += figures.length;
  }
  return conditionResult(false, `None of ${seen} ${seen === 1 ? 'figure' : 'figures'} of ${metric} is ${op} ${value}.`);
}

/** Whether these figures are others than those that the place got last. */
async function evaluateChanged(
  figures: string,
  place: FiguresDestination,
  sent: LastSentFigures | undefined,
): Promise<ConditionResult> {
  const known = await sent?.last(place);
  if (known?.uncertainRun !== undefined) {
    return conditionResult(
      true,
      `Run ${known.uncertainRun} may have delivered others, so nobody knows which figures were last.`,
    );
  }
  const last = known?.sent;
  if (last === undefined) return conditionResult(true, 'No earlier delivery is known here.');
  const when = `those of run ${last.run}, sent ${new Date(last.at).toISOString()}`;
  return last.figures === figures
    ? conditionResult(false, `The figures are the same as ${when}.`)
    : conditionResult(true, `The figures differ from ${when}.`);
}

/** What was decided, and the hash of the figures that it was decided of. */
export interface ConditionResults {
  /** As `figuresOf`; absent where no delivery has a condition, because nobody compares it with anything then. */
  readonly figures?: string;
  readonly conditions: readonly SendDecision[];
}

/**
 * Decides on every delivery that has a condition. The manifest keeps the decisions, so that a retry does as the first
 * try was told, whatever was sent in between. The hash is kept for any condition, so that one that becomes `changed`
 * later finds what was sent last. Throws `redis.unreachable`.
 *
 * @param sent undefined where nothing is remembered from run to run: what changed is then unknown, and is sent
 * @param turn called every few hundred rows, so that a long table holds up nothing else; its rejection ends the work
 */
export async function evaluateConditions(
  dataset: Pick<Dataset, 'tables'>,
  { org, report, deliveries }: Pick<Definition, 'org' | 'report' | 'deliveries'>,
  sent: LastSentFigures | undefined,
  turn?: YieldToEventLoop,
  targets = TARGETS,
): Promise<ConditionResults> {
  const conditional = deliveries.flatMap((delivery, index) => {
    const { send_if } = delivery;
    const condition = send_if === undefined ? undefined : parseSendCondition(send_if);
    if (send_if === undefined || condition === undefined || !('kind' in condition)) return [];
    const { kind, mailboxes } = describeDelivery(delivery, targets);
    const recipients = mailboxes === undefined ? [null] : mailboxes.map(({ address }) => recipientKey(address));
    return [{ target: targetName(index, kind), recipients: [...new Set(recipients)], send_if, condition }];
  });
  if (conditional.length === 0) return { conditions: [] };
  const figures = await hashFigures(dataset, turn);
  const conditions: SendDecision[] = [];
  for (const { target, recipients, send_if, condition } of conditional) {
    const same =
      condition.kind === 'compare'
        ? await evaluateComparison(dataset, condition, turn)
        : condition.kind === 'non_empty'
          ? await evaluateNonEmpty(dataset, turn)
          : undefined;
    for (const recipient of recipients) {
      const said = same ?? (await evaluateChanged(figures, { org, report, target, recipient }, sent));
      conditions.push({ target, recipient, send_if, ...said });
    }
  }
  return { figures, conditions };
}
