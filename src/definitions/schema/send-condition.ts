import { type AmountUnit, parseAmount } from './values/amount.ts';
import { lineSchema } from './values/primitives.ts';

export const COMPARISONS = ['<', '<=', '>', '>=', '=', '!='] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** Conditions without operands. Three of them are about statuses (`targets.yaml`). */
const CONDITION_WORDS = ['changed', 'non_empty', 'breached', 'watch', 'status_changed', 'unusual'] as const;

/** Condition of a delivery. A comparison applies to a metric of one section, or of all sections that show it. */
export type SendCondition =
  | { readonly kind: (typeof CONDITION_WORDS)[number] }
  | {
      readonly kind: 'compare';
      readonly section: string | undefined;
      readonly metric: string;
      readonly op: Comparison;
      /** In the metric's raw unit: a ratio from 0 to 1, or seconds. */
      readonly value: number;
      /** As written; null if there is only a number. */
      readonly unit: AmountUnit | null;
    };

export interface ConditionSyntaxError {
  readonly expected: string;
  readonly got: string;
}

const SECTION_PATTERN = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const METRIC_PATTERN = /^[A-Za-z_][A-Za-z0-9_.-]{0,199}$/;
const OPERATOR_PATTERN = /^(<=|>=|!=|<|>|=)/;
const CONDITION_DESCRIPTION = `${CONDITION_WORDS.join(', ')}, or a comparison such as "alerts.open > 10"`;

/**
 * Parses a condition: one of `CONDITION_WORDS`, or `[section:]metric op number[unit]` with the operators `< <= > >= =
 * !=` and the units `%` (for a ratio) and `s m h d` (for a duration). Never throws, and the text is never evaluated.
 */
export function parseSendCondition(text: string): SendCondition | ConditionSyntaxError {
  const trimmed = text.trim();
  const word = CONDITION_WORDS.find((each) => each === trimmed);
  if (word !== undefined) return { kind: word };
  const at = (rest: string): string => `${JSON.stringify(rest.slice(0, 40))} at character ${text.indexOf(rest) + 1}`;
  const operator = trimmed.search(/[<>=!]/);
  if (operator === -1) return { expected: CONDITION_DESCRIPTION, got: JSON.stringify(trimmed.slice(0, 60)) };
  const subject = trimmed.slice(0, operator).trim();
  const rest = trimmed.slice(operator);
  const op = COMPARISONS.find((each) => each === OPERATOR_PATTERN.exec(rest)?.[0]);
  if (op === undefined) return { expected: `one of ${COMPARISONS.join(' ')}`, got: at(rest) };
  const colon = subject.indexOf(':');
  const section = colon === -1 ? undefined : subject.slice(0, colon).trim();
  const metric = subject.slice(colon + 1).trim();
  if (section !== undefined && !SECTION_PATTERN.test(section))
    return { expected: 'the id of a section before ":"', got: at(subject) };
  if (!METRIC_PATTERN.test(metric)) return { expected: `the id of a metric before "${op}"`, got: at(trimmed) };
  const operand = rest.slice(op.length).trim();
  const amount = parseAmount(operand);
  if (amount === undefined) {
    return {
      expected: `a number after "${op}", with %, s, m, h or d behind it where it is a ratio or a duration`,
      got: operand === '' ? 'nothing' : at(operand),
    };
  }
  return { kind: 'compare', section, metric, op, ...amount };
}

/** Whether a value meets a comparison. An undefined value never does. */
export function meetsComparison(found: number | null, op: Comparison, value: number): boolean {
  if (found === null) return false;
  switch (op) {
    case '<':
      return found < value;
    case '<=':
      return found <= value;
    case '>':
      return found > value;
    case '>=':
      return found >= value;
    case '=':
      return found === value;
    case '!=':
      return found !== value;
  }
}

export const sendIfSchema = lineSchema(300)
  .superRefine((text, context) => {
    const read = parseSendCondition(text);
    if ('kind' in read) return;
    const { expected, got } = read;
    context.addIssue({ code: 'custom', message: expected, params: { got, next: `write ${CONDITION_DESCRIPTION}` } });
  })
  .describe(
    'Default: always. changed: when the figures differ from those last delivered there. non_empty: when a list has a row or a metric is not 0. breached: when a figure with a target is breached. watch: when one is on watch or breached. status_changed: when a status differs from the one last delivered there, so once per crossing. unusual: when a figure with a trend of at least 13 points is outside of its usual range. "<metric> <op> <number>", e.g. "alerts.open > 10" or "queue:sla.met < 95%": when the section\'s totals, or without totals any of its rows, meet it.',
  );
