import { lineSchema } from './words.ts';

export const COMPARISONS = ['<', '<=', '>', '>=', '=', '!='] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** When a delivery is sent. A comparison names one metric, of one section or of each that has it. */
export type Condition =
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

export interface ConditionFault {
  readonly expected: string;
  readonly got: string;
}

const SECTION = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const METRIC = /^[A-Za-z_][A-Za-z0-9_.-]{0,199}$/;
const OPERATOR = /^(<=|>=|!=|<|>|=)/;
const NUMBER = /^(-?\d{1,15}(?:\.\d{1,15})?)(%|s|m|h|d)?$/;

/** What a unit makes of a number: ratios are from 0 to 1, durations in seconds. */
const UNITS: Readonly<Record<string, (value: number) => number>> = {
  '%': (value) => value / 100,
  s: (value) => value,
  m: (value) => value * 60,
  h: (value) => value * 3_600,
  d: (value) => value * 86_400,
};

const FORM = 'changed, non_empty, or a comparison such as "alerts.open > 10"';

/**
 * `changed`, `non_empty` or `[section:]metric op number[unit]`, with the operators `< <= > >= = !=` and the units
 * `%` (of a ratio) and `s m h d` (of a duration). Total: every text is a condition or a fault, and none is run as code.
 */
export function readCondition(text: string): Condition | ConditionFault {
  const written = text.trim();
  if (written === 'changed' || written === 'non_empty') return { kind: written };
  const at = (rest: string): string => `${JSON.stringify(rest.slice(0, 40))} at character ${text.indexOf(rest) + 1}`;
  const operator = written.search(/[<>=!]/);
  if (operator === -1) return { expected: FORM, got: JSON.stringify(written.slice(0, 60)) };
  const subject = written.slice(0, operator).trim();
  const rest = written.slice(operator);
  const op = COMPARISONS.find((each) => each === OPERATOR.exec(rest)?.[0]);
  if (op === undefined) return { expected: `one of ${COMPARISONS.join(' ')}`, got: at(rest) };
  const colon = subject.indexOf(':');
  const section = colon === -1 ? undefined : subject.slice(0, colon).trim();
  const metric = subject.slice(colon + 1).trim();
  if (section !== undefined && !SECTION.test(section))
    return { expected: 'the id of a section before ":"', got: at(subject) };
  if (!METRIC.test(metric)) return { expected: `the id of a metric before "${op}"`, got: at(written) };
  const operand = rest.slice(op.length).trim();
  const [, digits, unit = ''] = NUMBER.exec(operand) ?? [];
  if (digits === undefined) {
    return {
      expected: `a number after "${op}", with %, s, m, h or d behind it where it is a ratio or a duration`,
      got: operand === '' ? 'nothing' : at(operand),
    };
  }
  const inUnit = UNITS[unit] ?? ((value: number) => value);
  return { kind: 'compare', section, metric, op, value: inUnit(Number(digits)) };
}

/** Whether a value meets a comparison. A figure that is undefined meets none. */
export function meets(found: number | null, op: Comparison, value: number): boolean {
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
    const read = readCondition(text);
    if ('kind' in read) return;
    const { expected, got } = read;
    context.addIssue({ code: 'custom', message: expected, params: { got, next: `write ${FORM}` } });
  })
  .describe(
    'Absent: always. changed: when the figures differ from those last delivered there. non_empty: when a list has a row or a metric is not 0. "<metric> <op> <number>", e.g. "alerts.open > 10" or "queue:sla.met < 95%": when the section\'s totals, or without totals any of its rows, meet it.',
  );
