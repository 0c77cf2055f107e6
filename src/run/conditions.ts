import { createHash } from 'node:crypto';
import { type Condition, meets, readCondition } from '../define/condition.ts';
import type { Definition } from '../define/definition.ts';
import { TARGETS } from '../define/target.ts';
import { type Decision, recipientKey } from '../deliver/decision.ts';
import type { SentFigures } from '../deliver/sent-figures.ts';
import type { Dataset, Table } from '../fetch/dataset.ts';
import { rowsIn, someRow } from '../fetch/rows.ts';

/**
 * SHA-256 (hex) over what the tables show: columns, values, the previous period's, totals. When it was computed, and how
 * its columns are called for readers, does not count.
 */
export function figuresOf({ tables }: Pick<Dataset, 'tables'>): string {
  const hash = createHash('sha256');
  for (const { id, columns, rows, totals } of tables) {
    const names = columns.map(({ name }) => name);
    hash.update(`${JSON.stringify([id, names])}\n`);
    const line = (values: Readonly<Record<string, unknown>>, compare: Readonly<Record<string, unknown>> | undefined) =>
      hash.update(
        `${JSON.stringify([names.map((name) => values[name] ?? null), compare && names.map((name) => compare[name] ?? null)])}\n`,
      );
    for (const { values, compare } of rowsIn(rows)) line(values, compare);
    if (totals !== undefined) line(totals.values, totals.compare);
    hash.update('\n');
  }
  return hash.digest('hex');
}

const isNumber = (value: unknown): value is number => typeof value === 'number';

function isEmpty({ columns, rows }: Table): boolean {
  const metrics = columns.filter(({ kind }) => kind === 'metric');
  return !someRow(
    rows,
    ({ values }) => metrics.length === 0 || metrics.some(({ name }) => isNumber(values[name]) && values[name] !== 0),
  );
}

type Comparing = Extract<Condition, { kind: 'compare' }>;

/** The figures that a comparison is about: a section's totals where it has them, else those of its rows. */
function* figuresIn({ tables }: Pick<Dataset, 'tables'>, { section, metric }: Comparing): Generator<number | null> {
  for (const { id, columns, rows, totals } of tables) {
    if (section !== undefined && id !== section) continue;
    if (!columns.some(({ kind, name }) => kind === 'metric' && name === metric)) continue;
    if (totals !== undefined) yield totals.values[metric] ?? null;
    else {
      for (const { values } of rowsIn(rows)) {
        const value = values[metric];
        yield isNumber(value) ? value : null;
      }
    }
  }
}

const verdict = (send: boolean, reason: string): Pick<Decision, 'send' | 'reason'> => ({ send, reason });

function compared(dataset: Pick<Dataset, 'tables'>, condition: Comparing): Pick<Decision, 'send' | 'reason'> {
  const { metric, op, value } = condition;
  let seen = 0;
  for (const figure of figuresIn(dataset, condition)) {
    if (meets(figure, op, value)) return verdict(true, `${metric} is ${figure}, which is ${op} ${value}.`);
    seen += 1;
  }
  return verdict(false, `None of ${seen} ${seen === 1 ? 'figure' : 'figures'} of ${metric} is ${op} ${value}.`);
}

/**
 * Decides on every delivery that has a condition. The manifest keeps the decisions, so that a retry does as the first
 * try was told, whatever was sent in between. Throws `redis.unreachable`.
 *
 * @param sent undefined where nothing is remembered from run to run: what changed is then unknown, and is sent
 */
export async function decide(
  dataset: Pick<Dataset, 'tables'>,
  { org, report, deliveries }: Pick<Definition, 'org' | 'report' | 'deliveries'>,
  sent: SentFigures | undefined,
): Promise<{ readonly figures: string; readonly conditions: readonly Decision[] }> {
  const figures = figuresOf(dataset);
  const conditions: Decision[] = [];
  for (const [index, delivery] of deliveries.entries()) {
    const { send_if, email } = delivery;
    const kind = TARGETS.find((each) => delivery[each] !== undefined);
    const condition = send_if === undefined ? undefined : readCondition(send_if);
    if (send_if === undefined || kind === undefined || condition === undefined || !('kind' in condition)) continue;
    const target = `${index}-${kind}`;
    const recipients = email === undefined ? [null] : [...new Set(email.to.map(recipientKey))];
    const judge = async (recipient: string | null): Promise<Pick<Decision, 'send' | 'reason'>> => {
      if (condition.kind === 'compare') return compared(dataset, condition);
      if (condition.kind === 'non_empty') {
        const filled = dataset.tables.find((table) => !isEmpty(table));
        if (filled === undefined) return verdict(false, 'Every list is empty and every metric 0 or undefined.');
        return verdict(true, `${filled.id} is not empty.`);
      }
      const known = await sent?.last({ org, report, target, recipient });
      if (known?.perhaps !== undefined) {
        return verdict(
          true,
          `Run ${known.perhaps} may have delivered others, so nobody knows which figures were last.`,
        );
      }
      const last = known?.sent;
      if (last === undefined) return verdict(true, 'No earlier delivery is known here.');
      const when = `those of run ${last.run}, sent ${new Date(last.at).toISOString()}`;
      return last.figures === figures
        ? verdict(false, `The figures are the same as ${when}.`)
        : verdict(true, `The figures differ from ${when}.`);
    };
    for (const recipient of recipients) conditions.push({ target, recipient, send_if, ...(await judge(recipient)) });
  }
  return { figures, conditions };
}
