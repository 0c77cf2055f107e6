import { DateTime } from 'luxon';
import { DocketError } from '../../base/error.ts';
import type { RunPeriods } from './period.ts';
import type { PeriodSpec } from './period-spec.ts';

/** The civil day (YYYY-MM-DD) of an instant (epoch ms). */
const dayIn = (timezone: string, at: number): string =>
  DateTime.fromMillis(at, { zone: timezone }).toFormat('yyyy-MM-dd');

/**
 * Throws `period.not_begun` if the period of the report or of a section begins after today, in its own time zone: there
 * are no figures yet, and zeros would look like figures.
 */
export function assertBegun({ period, sectionPeriods = {} }: RunPeriods, now: number): void {
  for (const { from, to, timezone } of [period, ...Object.values(sectionPeriods)]) {
    const today = dayIn(timezone, now);
    if (from <= today) continue;
    throw new DocketError('period.not_begun', `The period ${daysText({ from, to })} has not begun.`, {
      expected: `a first day that is not after today, ${today} in ${timezone}`,
      got: daysText({ from, to }),
      next: 'Choose a period that has begun.',
    });
  }
}

/**
 * Throws like `assertBegun`, and `period.unfinished` for requested days of which the last has not ended. Names such as
 * `current_month`, and the definition's own period, already say that they may be running.
 * @param spec from the request; undefined for the definition's own period
 * @param unfinished the request confirms that unfinished days are meant
 */
export function assertPeriodAllowed(
  periods: RunPeriods,
  { spec, unfinished = false }: { readonly spec: PeriodSpec | undefined; readonly unfinished?: boolean | undefined },
  now: number,
): void {
  assertBegun(periods, now);
  const { from, to, timezone } = periods.period;
  const today = dayIn(timezone, now);
  if (unfinished || typeof spec !== 'object' || to < today) return;
  throw new DocketError('period.unfinished', `The period ${daysText({ from, to })} has not ended.`, {
    expected: `a last day before today, ${today} in ${timezone}, or a request for unfinished days`,
    got: daysText({ from, to }),
    next: 'Choose a period that has ended, or request its figures so far: `--unfinished`, `unfinished: true`, or the box of the form.',
  });
}

const daysText = ({ from, to }: { readonly from: string; readonly to: string }): string =>
  from === to ? from : `${from} to ${to}`;
