import { describeDelivery, targetName } from '../definitions/schema/kinds.ts';
import type { Definition } from '../definitions/schema/report-definition.ts';
import { meetsComparison, parseSendCondition, type SendCondition } from '../definitions/schema/send-condition.ts';
import type { FiguresDestination, LastSentFigures } from '../deliver/last-sent-figures.ts';
import { CORRECTION_CONDITIONS, recipientKey, type SendDecision } from '../deliver/send-decision.ts';
import { TARGETS } from '../deliver/targets/registry.ts';
import type { CorrectedEdition, Dataset, Judgement, Row, Status, Table } from '../fetch/dataset.ts';
import { rowBatches, wrongFigures, type YieldToEventLoop } from '../fetch/rows.ts';
import { currentJudgements, statusesByFigure, withoutIgnored } from '../render/figures/current-statuses.ts';
import { unusualFigure } from '../render/figures/usual-range.ts';
import { hashFigures } from '../render/hash-figures.ts';

const isNumber = (value: unknown): value is number => typeof value === 'number';

async function isEmpty({ columns, rows }: Table, yieldToEventLoop?: YieldToEventLoop): Promise<boolean> {
  const metrics = columns.filter(({ kind }) => kind === 'metric');
  const filled = ({ values }: Row) =>
    metrics.length === 0 || metrics.some(({ name }) => isNumber(values[name]) && values[name] !== 0);
  for await (const batch of rowBatches(rows, yieldToEventLoop)) if (batch.some(filled)) return false;
  return true;
}

async function evaluateNonEmpty(
  { tables }: Pick<Dataset, 'tables'>,
  yieldToEventLoop?: YieldToEventLoop,
): Promise<ConditionResult> {
  for (const table of tables) {
    if (!(await isEmpty(table, yieldToEventLoop))) return conditionResult(true, `${table.id} is not empty.`);
  }
  return conditionResult(false, 'Every list is empty and every metric 0 or undefined.');
}

type CompareCondition = Extract<SendCondition, { kind: 'compare' }>;

/** The metric that replaces a deprecated one in the table. */
const successorIn = ({ notes }: Pick<Table, 'notes'>, metric: string): string =>
  notes.flatMap(({ message }) =>
    message.id === 'replaced' && message.of.from.id === metric ? message.of.to.id : [],
  )[0] ?? metric;

/** The values to which a comparison applies: the section's totals if it has them, otherwise the values of its rows. */
async function* comparedFigures(
  { tables }: Pick<Dataset, 'tables'>,
  { section, metric: requested }: CompareCondition,
  yieldToEventLoop?: YieldToEventLoop,
): AsyncGenerator<readonly (number | null)[]> {
  for (const table of tables) {
    const { id, columns, rows, totals } = table;
    if (section !== undefined && id !== section) continue;
    const metric = successorIn(table, requested);
    if (!columns.some(({ kind, name }) => kind === 'metric' && name === metric)) continue;
    if (totals !== undefined) yield [totals.values[metric] ?? null];
    else {
      for await (const batch of rowBatches(rows, yieldToEventLoop)) {
        yield batch.map(({ values: { [metric]: value } }) => (isNumber(value) ? value : null));
      }
    }
  }
}

/** Whether any value to which a comparison applies cannot be right. */
function hasWrongFigure(table: Table, { section, metric }: CompareCondition): boolean {
  if (section !== undefined && table.id !== section) return false;
  const name = successorIn(table, metric);
  if (table.totals !== undefined) return wrongFigures(table).inTotals(name);
  return (table.wrong ?? []).some((figure) => figure.metric === name && figure.at !== 'totals');
}

/** The parts of a dataset that conditions use. */
type ConditionData = Pick<Dataset, 'tables' | 'judgements' | 'small' | 'bases'>;

type ConditionResult = Pick<SendDecision, 'send' | 'reason'>;

const conditionResult = (send: boolean, reason: string): ConditionResult => ({ send, reason });

async function evaluateComparison(
  dataset: Pick<Dataset, 'tables'>,
  condition: CompareCondition,
  yieldToEventLoop?: YieldToEventLoop,
): Promise<ConditionResult> {
  const { metric, op, value } = condition;
  let seen = 0;
  for await (const figures of comparedFigures(dataset, condition, yieldToEventLoop)) {
    const met = figures.find((figure) => meetsComparison(figure, op, value));
    if (met !== undefined) return conditionResult(true, `${metric} is ${met}, which is ${op} ${value}.`);
    seen += figures.length;
  }
  if (dataset.tables.some((table) => hasWrongFigure(table, condition))) {
    return conditionResult(true, `A figure of ${metric} cannot be right.`);
  }
  return conditionResult(false, `None of ${seen} ${seen === 1 ? 'figure' : 'figures'} of ${metric} is ${op} ${value}.`);
}

/** Whether the figures differ from those last sent to the destination. */
async function evaluateChanged(
  figures: string,
  destination: FiguresDestination,
  sent: LastSentFigures | undefined,
): Promise<ConditionResult> {
  const last = await sent?.last(destination);
  if (last?.uncertainRun !== undefined) {
    return conditionResult(true, `It is unknown whether run ${last.uncertainRun} delivered other figures.`);
  }
  const lastSent = last?.sent;
  if (lastSent === undefined) return conditionResult(true, 'No earlier delivery on record.');
  const when = `those of run ${lastSent.run}, sent ${new Date(lastSent.at).toISOString()}`;
  return lastSent.figures === figures
    ? conditionResult(false, `The figures are the same as ${when}.`)
    : conditionResult(true, `The figures differ from ${when}.`);
}

/** The result if a judged figure cannot be right: it may be breached. Undefined if there is no such figure. */
function wrongFigure(judgements: readonly Judgement[]): ConditionResult | undefined {
  const found = currentJudgements(judgements).find(({ wrong }) => wrong === true);
  return found && conditionResult(true, `A figure cannot be right: ${found.metric} is ${found.figure}.`);
}

/** Whether a figure is or may be breached; for `watch`, whether one is or may be on watch or breached. */
function evaluateStatus(kind: 'breached' | 'watch', judgements: readonly Judgement[]): ConditionResult {
  const wanted: readonly Status[] = kind === 'watch' ? ['watch', 'breached'] : ['breached'];
  const current = currentJudgements(judgements);
  const found = current.find(({ status }) => wanted.includes(status));
  if (found !== undefined) return conditionResult(true, `${found.metric} is ${found.figure}: ${found.status}.`);
  const wrong = wrongFigure(judgements);
  if (wrong !== undefined) return wrong;
  const of = `${current.length} ${current.length === 1 ? 'figure' : 'figures'} with a target`;
  return conditionResult(false, `None of ${of} is ${wanted.join(' or ')}.`);
}

/** Whether a figure is, or may be, outside its usual range. */
function evaluateUnusual(dataset: ConditionData): ConditionResult {
  const found = unusualFigure(dataset);
  if (found !== undefined) {
    const { metric, value } = found;
    if (!('usual' in found)) return conditionResult(true, `A figure cannot be right: ${metric} is ${value}.`);
    return conditionResult(
      true,
      `${metric} is ${value}, and usually between ${found.usual.low} and ${found.usual.high}.`,
    );
  }
  return wrongFigure(dataset.judgements ?? []) ?? conditionResult(false, 'No figure is outside of its usual range.');
}

/** Whether a status differs from the one last sent to the destination. */
async function evaluateStatusChanged(
  judgements: readonly Judgement[],
  destination: FiguresDestination,
  sent: LastSentFigures | undefined,
): Promise<ConditionResult> {
  const last = await sent?.last(destination);
  if (last?.uncertainRun !== undefined) {
    return conditionResult(true, `It is unknown whether run ${last.uncertainRun} delivered other statuses.`);
  }
  const before = last?.sent?.statuses;
  if (last?.sent === undefined || before === undefined) {
    return conditionResult(true, 'No earlier delivery with statuses on record.');
  }
  const when = `run ${last.sent.run}, sent ${new Date(last.sent.at).toISOString()}`;
  const statuses = statusesByFigure(withoutIgnored(judgements));
  const all = statusesByFigure(judgements);
  // A figure without a status is not breached: a group without a row has recovered, and may be breached again later.
  const crossed =
    Object.entries(statuses).find(([figure, status]) => status !== (before[figure] ?? 'on_target'))?.[0] ??
    Object.keys(before).find(
      (figure) => all[figure] === undefined && (before[figure] === 'breached' || before[figure] === 'watch'),
    );
  if (crossed === undefined) return conditionResult(false, `Every status is the same as in ${when}.`);
  const described = (of: Readonly<Record<string, Status>>) => of[crossed] ?? 'without a status';
  return conditionResult(true, `${crossed} is ${described(statuses)}, and was ${described(before)} in ${when}.`);
}

/** The decisions on deliveries, and the hash of the figures behind them. */
export interface ConditionResults {
  /** The hash of the figures (`hashFigures`). Absent if no delivery has a condition. */
  readonly figures?: string;
  readonly conditions: readonly SendDecision[];
}

/**
 * Evaluates the condition of every delivery that has one. The manifest stores the decisions, so that a retry repeats
 * them. It stores the hash for every kind of condition, so that a later change to `changed` can compare with the
 * figures sent last. Throws `redis.unreachable`.
 *
 * @param sent undefined if sent figures are not recorded: `changed` and `status_changed` are then always met
 * @param yieldToEventLoop called every few hundred rows; a rejection ends the evaluation
 * @param known the hash of the figures, if it was computed already
 */
export async function evaluateConditions(
  dataset: ConditionData & Pick<Dataset, 'correction'>,
  { org, report, deliveries, desk }: Pick<Definition, 'org' | 'report' | 'deliveries' | 'desk'>,
  sent: LastSentFigures | undefined,
  yieldToEventLoop?: YieldToEventLoop,
  targets = TARGETS,
  known?: string,
): Promise<ConditionResults> {
  const { correction } = dataset;
  // `send_if` decided about the original: recipients of the original also get the correction.
  if (correction !== undefined)
    return { conditions: correctionDecisions(correction, { deliveries, ...(desk && { desk }) }, targets) };
  const conditional = deliveries.flatMap((delivery, index) => {
    const { send_if } = delivery;
    const condition = send_if === undefined ? undefined : parseSendCondition(send_if);
    if (send_if === undefined || condition === undefined || !('kind' in condition)) return [];
    const { kind, mailboxes } = describeDelivery(delivery, targets);
    const recipients = mailboxes === undefined ? [null] : mailboxes.map(({ address }) => recipientKey(address));
    return [{ target: targetName(index, kind, desk), recipients: [...new Set(recipients)], send_if, condition }];
  });
  if (conditional.length === 0) return { conditions: [] };
  const figures = known ?? (await hashFigures(dataset, yieldToEventLoop));
  const wrong = wrongFigure(dataset.judgements ?? []);
  const conditions: SendDecision[] = [];
  for (const { target, recipients, send_if, condition } of conditional) {
    const shared = await evaluateShared(dataset, condition, yieldToEventLoop);
    for (const recipient of recipients) {
      const destination = { org, report, target, recipient };
      const result =
        shared ??
        (condition.kind === 'status_changed'
          ? (wrong ?? (await evaluateStatusChanged(dataset.judgements ?? [], destination, sent)))
          : await evaluateChanged(figures, destination, sent));
      conditions.push({ target, recipient, send_if, ...result });
    }
  }
  return { figures, conditions };
}

/**
 * Decides who gets a corrected edition: only people who received the replaced edition, or may have. Nobody gets it if
 * the service has returned to the delivered figures since the decision to correct. An edition that a person opened is
 * always sent. Recipients whose open delivery it withdrew get it without the mark.
 *
 * @param set the file set that the decisions are about
 */
export function correctionDecisions(
  { replaces, changes, reason: why, recipients: received = [], unmarked = [] }: CorrectedEdition,
  { deliveries, desk }: Pick<Definition, 'deliveries' | 'desk'>,
  targets: typeof TARGETS,
  set: keyof typeof CORRECTION_CONDITIONS = 'marked',
): readonly SendDecision[] {
  return deliveries.flatMap((delivery, index): SendDecision[] => {
    const { kind, mailboxes } = describeDelivery(delivery, targets);
    const target = targetName(index, kind, desk);
    const collectKeys = (all: typeof received) =>
      all.filter((one) => one.target === target).map(({ recipient }) => recipientKey(recipient));
    const [marked, first] = [collectKeys(received), collectKeys(unmarked)];
    const before = [...marked, ...first];
    const decision = (recipient: string | null): SendDecision => {
      const isAmong = (keys: readonly string[]) => (recipient === null ? keys.length > 0 : keys.includes(recipient));
      const isFirst = !isAmong(marked) && isAmong(first);
      const send_if = CORRECTION_CONDITIONS[isFirst ? 'unmarked' : 'marked'];
      if (isAmong(before) && changes.length === 0 && why === undefined) {
        const reason = `No figure of run ${replaces.run} differs any longer: there is nothing to correct.`;
        return { target, recipient, send_if, send: false, reason };
      }
      if (isFirst) {
        const reason = `Its open delivery of run ${replaces.run} was withdrawn: it gets this edition without the mark.`;
        return { target, recipient, send_if, send: set === 'unmarked', reason };
      }
      const send = isAmong(marked);
      const reason = `${send ? 'Received' : 'Did not receive'} run ${replaces.run}, which this edition corrects.`;
      return { target, recipient, send_if, send: send && set === 'marked', reason };
    };
    if (mailboxes === undefined) return [decision(null)];
    // Includes recipients whom a person added to the edition.
    return [...new Set([...mailboxes.map(({ address }) => recipientKey(address)), ...before])].map(decision);
  });
}

/**
 * The result of a condition that is the same for every recipient; undefined for a condition that compares with the last
 * delivery.
 */
async function evaluateShared(
  dataset: ConditionData,
  condition: SendCondition,
  yieldToEventLoop?: YieldToEventLoop,
): Promise<ConditionResult | undefined> {
  switch (condition.kind) {
    case 'compare':
      return evaluateComparison(dataset, condition, yieldToEventLoop);
    case 'non_empty':
      return evaluateNonEmpty(dataset, yieldToEventLoop);
    case 'breached':
    case 'watch':
      return evaluateStatus(condition.kind, withoutIgnored(dataset.judgements ?? []));
    case 'unusual':
      return evaluateUnusual(dataset);
    case 'changed':
    case 'status_changed':
      return undefined;
  }
}
