import { lineSchema } from './primitives.ts';

export const COMPARISONS = ['<', '<=', '>', '>=', '=', '!='] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** Condition of a delivery. A comparison applies to a metric of one section, or of all sections that have it. */
export type SendCondition =
  | { readonly kind: 'changed' }
  | { readonly kind: 'non_empty' }
  | {
      readonly kind: 'compare';
      readonly section: string | undefined;
      readonly metric: string;
      readonly op: Comparison;
      /** In the metric's raw unit: a ratio from 0 to 1, seconds. */
      readonly value: number;
    };

export interface ConditionSyntaxError {
  readonly expected: string;
  readonly got: string;
}

const SECTION_PATTERN = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const METRIC_PATTERN = /^[A-Za-z_][A-Za-z0-9_.-]{0,199}$/;
const OPERATOR_PATTERN = /^(<=|>=|!=|<|>|=)/;
const NUMBER_PATTERN = /^(-?\d{1,15}(?:\.\d{1,15})?)(%|s|m|h|d)?$/;

/** Factors to raw units: ratios are from 0 to 1, durations in seconds. */
const UNIT_CONVERSIONS: Readonly<Record<string, (value: number) => number>> = {
  '%': (value) => value / 100,
  s: (value) => value,
  m: (value) => value * 60,
  h: (value) => value * 3_600,
  d: (value) => value * 86_400,
};

const CONDITION_DESCRIPTION = 'changed, non_empty, or a comparison such as "alerts.open > 10"';

/**
 * `changed`, `non_empty` or `[section:]metric op number[unit]`, with the operators `< <= > >= = !=` and the units
 * `%` (of a ratio) and `s m h d` (of a duration). Never throws; the text is never evaluated.
 */
export function parseSendCondition(text: string): SendCondition | ConditionSyntaxError {
  const trimmed = text.trim();
  if (trimmed === 'changed' || trimmed === 'non_empty') return { kind: trimmed };
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
  const [, digits, unit = ''] = NUMBER_PATTERN.exec(operand) ?? [];
  if (digits === undefined) {
    return {
      expected: `a number after "${op}", with %, s, m, h or d behind it where it is a ratio or a duration`,
      got: operand === '' ? 'nothing' : at(operand),
    };
  }
  const inUnit = UNIT_CONVERSIONS[unit] ?? ((value: number) => value);
  return { kind: 'compare', section, metric, op, value: inUnit(Number(digits)) };
}

/** Whether a value meets a comparison. An undefined value meets none. */
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
    'Absent: always. changed: when the figures differ from those last delivered there. non_empty: when a list has a row or a metric is not 0. "<metric> <op> <number>", e.g. "alerts.open > 10" or "queue:sla.met < 95%": when the section\'s totals, or without totals any of its rows, meet it.',
  );
