import { sha256 } from '../base/sha256.ts';
import { DAY_MS } from '../base/time.ts';
import { NAMED_PERIODS, type PeriodSpec } from '../definitions/periods/period-spec.ts';
import type { RunOrder } from './run-record.ts';

export interface FingerprintedRequest {
  readonly period?: PeriodSpec | undefined;
  readonly deliver: boolean;
  readonly again?: boolean | undefined;
  readonly value?: string | undefined;
}

/**
 * Identifies a request, not its result: `previous_week` is the same request on Monday and on Sunday. `unfinished` is
 * left out: it permits a request, but changes nothing in the run.
 */
export function requestFingerprint({ period, deliver, again = false, value }: FingerprintedRequest): string {
  const days = typeof period === 'object' ? [period.from, period.to] : (period ?? null);
  // Fields without a value are left out, so that the fingerprint equals that of an older version.
  const more = { ...(again ? { again } : {}), ...(value === undefined ? {} : { value }) };
  return sha256(JSON.stringify([days, deliver, ...(Object.keys(more).length === 0 ? [] : [more])])).slice(0, 32);
}

/**
 * Whether the run was requested with `again`. In an order from version 0.2.0 or older, only the fingerprint shows it.
 */
export function isRequestedAgain({ again, asked, deliver, period }: RunOrder): boolean {
  if (again === true || asked === undefined) return again === true;
  const { from, to } = period;
  const days = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
  const [months, weeks] = [Math.round(days / 30.44), Math.round(days / 7)];
  const lasts = [`last_${days}_days`, `last_${weeks}_weeks`, `last_${months}_months`] as const;
  const specs: readonly (PeriodSpec | undefined)[] = [undefined, { from, to }, ...NAMED_PERIODS, ...lasts];
  return specs.some((spec) => requestFingerprint({ period: spec, deliver, again: true }) === asked);
}
