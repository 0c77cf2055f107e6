/** What may follow a number: `%` for a ratio, `s m h d` for a duration. */
const AMOUNT_UNITS = ['%', 's', 'm', 'h', 'd'] as const;
export type AmountUnit = (typeof AMOUNT_UNITS)[number];

/** A number as written in definitions: `0.9`, `90%`, `24h`. */
export interface Amount {
  /** In the metric's raw unit: a ratio from 0 to 1, or seconds. */
  readonly value: number;
  /** As written; null if there is only a number. */
  readonly unit: AmountUnit | null;
}

const AMOUNT_PATTERN = /^(-?\d{1,15}(?:\.\d{1,15})?)(%|s|m|h|d)?$/;

const SECONDS: Readonly<Record<Exclude<AmountUnit, '%'>, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** The most digits of a number in a definition. Binary sums are exact to that many. */
const PRECISION = 15;

/** Exact in decimal: 33.3% equals the service's 0.333, and 2.3h are 8280 seconds. */
function inRawUnit(digits: string, unit: AmountUnit | null): number {
  if (unit === null) return Number(digits);
  return unit === '%' ? Number(`${digits}e-2`) : Number((Number(digits) * SECONDS[unit]).toPrecision(PRECISION));
}

/** Parses an amount; undefined for anything else. */
export function parseAmount(written: string | number): Amount | undefined {
  if (typeof written === 'number') return Number.isFinite(written) ? { value: written, unit: null } : undefined;
  const [, digits, suffix] = AMOUNT_PATTERN.exec(written.trim()) ?? [];
  if (digits === undefined) return undefined;
  const unit = AMOUNT_UNITS.find((each) => each === suffix) ?? null;
  return { value: inRawUnit(digits, unit), unit };
}

/**
 * Whether a figure of a metric in `metricUnit` can have this number and unit. Ratios, durations and counts are never
 * negative.
 */
export function fitsUnit({ value, unit }: Amount, metricUnit: string | null): boolean {
  if (metricUnit === 'ratio') return (unit === null || unit === '%') && value >= 0 && value <= 1;
  if (metricUnit === 'seconds') return unit !== '%' && value >= 0;
  return unit === null && (metricUnit !== 'count' || value >= 0);
}
