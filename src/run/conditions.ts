import { createHash } from 'node:crypto';
import { type Condition, meets, readCondition } from '../define/condition.ts';
import type { Definition } from '../define/definition.ts';
import { TARGETS } from '../define/target.ts';
import { type Decision, recipientKey } from '../deliver/decision.ts';
import type { Place, SentFigures } from '../deliver/sent-figures.ts';
import type { Dataset, Row, Table } from '../fetch/dataset.ts';
import { rowBatches, type Turn } from '../fetch/rows.ts';

/**
 * SHA-256 (hex) over what the tables show: columns, values, the previous period's, totals. When it was computed, and how
 * its columns are called for readers, does not count. The event loop has a turn every few hundred rows.
 */
export async function figuresOf({ tables }: Pick<Dataset, 'tables'>, turn?: Turn): Promise<string> {
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

async function isEmpty({ columns, rows }: Table, turn?: Turn): Promise<boolean> {
  const metrics = columns.filter(({ kind }) => kind === 'metric');
  const filled = ({ values }: Row) =>
    metrics.length === 0 || metrics.some(({ name }) => isNumber(values[name]) && values[name] !== 0);
  for await (const batch of rowBatches(rows, turn)) if (batch.some(filled)) return false;
  return true;
}

async function nonEmpty({ tables }: Pick<Dataset, 'tables'>, turn?: Turn): Promise<Verdict> {
  for (const table of tables) {
    if (!(await isEmpty(table, turn))) return verdict(true, `${table.id} is not empty.`);
  }
  return verdict(false, 'Every list is empty and every metric 0 or undefined.');
}

type Comparing = Extract<Condition, { kind: 'compare' }>;

/** The figures that a comparison is about: a section's totals where it has them, else those of its rows. */
async function* figuresIn(
  { tables }: Pick<Dataset, 'tables'>,
  { section, metric }: Comparing,
  turn?: Turn,
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

type Verdict = Pick<Decision, 'send' | 'reason'>;

const verdict = (send: boolean, reason: string): Verdict => ({ send, reason });

async function compared(dataset: Pick<Dataset, 'tables'>, condition: Comparing, turn?: Turn): Promise<Verdict> {
  const { metric, op, value } = condition;
  let seen = 0;
  for await (const figures of figuresIn(dataset, condition, turn)) {
    const met = figures.find((figure) => meets(figure, op, value));
    if (met !== undefined) return verdict(true, `${metric} is ${met}, which is ${op} ${value}.`);
    seen += figures.length;
  }
  return verdict(false, `None of ${seen} ${seen === 1 ? 'figure' : 'figures'} of ${metric} is ${op} ${value}.`);
}

/** Whether these figures are others than those that the place got last. */
async function changed(figures: string, place: Place, sent: SentFigures | undefined): Promise<Verdict> {
  const known = await sent?.last(place);
  if (known?.perhaps !== undefined) {
    return verdict(true, `Run ${known.perhaps} may have delivered others, so nobody knows which figures were last.`);
  }
  const last = known?.sent;
  if (last === undefined) return verdict(true, 'No earlier delivery is known here.');
  const when = `those of run ${last.run}, sent ${new Date(last.at).toISOString()}`;
  return last.figures === figures
    ? verdict(false, `The figures are the same as ${when}.`)
    : verdict(true, `The figures differ from ${when}.`);
}

/** What was decided, and the hash of the figures that it was decided of. */
export interface Decided {
  /** As `figuresOf`; absent where no delivery has a condition, because nobody compares it with anything then. */
  readonly figures?: string;
  readonly conditions: readonly Decision[];
}

/**
 * Decides on every delivery that has a condition. The manifest keeps the decisions, so that a retry does as the first
 * try was told, whatever was sent in between. The hash is kept for any condition, so that one that becomes `changed`
 * later finds what was sent last. Throws `redis.unreachable`.
 *
 * @param sent undefined where nothing is remembered from run to run: what changed is then unknown, and is sent
 * @param turn called every few hundred rows, so that a long table holds up nothing else; its rejection ends the work
 */
export async function decide(
  dataset: Pick<Dataset, 'tables'>,
  { org, report, deliveries }: Pick<Definition, 'org' | 'report' | 'deliveries'>,
  sent: SentFigures | undefined,
  turn?: Turn,
): Promise<Decided> {
  const conditional = deliveries.flatMap((delivery, index) => {
    const { send_if, email } = delivery;
    const kind = TARGETS.find((each) => delivery[each] !== undefined);
    const condition = send_if === undefined ? undefined : readCondition(send_if);
    if (send_if === undefined || kind === undefined || condition === undefined || !('kind' in condition)) return [];
    const recipients = email === undefined ? [null] : [...new Set(email.to.map(recipientKey))];
    return [{ target: `${index}-${kind}`, recipients, send_if, condition }];
  });
  if (conditional.length === 0) return { conditions: [] };
  const figures = await figuresOf(dataset, turn);
  const conditions: Decision[] = [];
  for (const { target, recipients, send_if, condition } of conditional) {
    const same =
      condition.kind === 'compare'
        ? await compared(dataset, condition, turn)
        : condition.kind === 'non_empty'
          ? await nonEmpty(dataset, turn)
          : undefined;
    for (const recipient of recipients) {
      const said = same ?? (await changed(figures, { org, report, target, recipient }, sent));
      conditions.push({ target, recipient, send_if, ...said });
    }
  }
  return { figures, conditions };
}
