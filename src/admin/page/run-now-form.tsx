import type { Period } from '../../define/period.ts';
import { Fault } from './fault.tsx';
import { Csrf, type Frame } from './frame.tsx';
import type { Refused } from './reason-form.tsx';

/** The usual periods, by what they are counted from; a definition may say others. */
const PERIODS: readonly (readonly [string, readonly string[]])[] = [
  ['Whole and over', ['previous_day', 'previous_week', 'previous_month', 'previous_quarter', 'previous_year']],
  ['Up to today', ['week_to_date', 'month_to_date', 'quarter_to_date', 'year_to_date']],
  [
    'The last',
    ['last_7_days', 'last_30_days', 'last_90_days', 'last_4_weeks', 'last_12_weeks', 'last_3_months', 'last_12_months'],
  ],
  ['Whole, days ahead included', ['current_day', 'current_week', 'current_month', 'current_quarter', 'current_year']],
];
/** In the order in which their days are asked for: the definition's own first. */
export const OFFERED: readonly (string | undefined)[] = [undefined, ...PERIODS.flatMap(([, names]) => names)];

interface RunNowProps {
  readonly frame: Frame;
  readonly path: string;
  readonly trigger: string;
  /** Days of each of `OFFERED` now; empty where they are not known. */
  readonly periods: readonly Period[];
  readonly refused: Refused | undefined;
}

/**
 * Asks for a run: which days, and whether it is sent. Exact days go before a name. What was delivered already is refused
 * once, and then asks whether to send it again.
 */
export const RunNowForm = ({ frame, path, trigger, periods, refused }: RunNowProps) => {
  const action = `${path}/run`;
  const own = refused?.action === action ? refused : undefined;
  const kept = own?.values ?? {};
  const days = (name: string | undefined): string => {
    const period = periods[OFFERED.indexOf(name)];
    return period === undefined ? '' : `: ${[...new Set([period.from, period.to])].join(' to ')}`;
  };
  const zone = periods[0]?.timezone;
  return (
    <details class="act" open={own !== undefined}>
      <summary class="button primary">Run now…</summary>
      <form method="post" action={action}>
        <Csrf frame={frame} />
        <input type="hidden" name="trigger" value={trigger} />
        {own === undefined ? null : <Fault error={own.error} id="run-fault" heading="No run was opened" />}
        <label for="run-period">Period{zone === undefined ? null : <span class="zone"> in days of {zone}</span>}</label>
        <select id="run-period" name="period">
          <option value="">as the definition says{days(undefined)}</option>
          {PERIODS.map(([label, names]) => (
            <optgroup label={label}>
              {names.map((name) => (
                <option value={name} selected={kept.period === name}>
                  {name.replaceAll('_', ' ')}
                  {days(name)}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
        <fieldset class="days">
          <legend>or exactly these days</legend>
          <label>
            First
            <input type="date" name="from" value={kept.from ?? ''} />
          </label>
          <label>
            Last
            <input type="date" name="to" value={kept.to ?? ''} />
          </label>
        </fieldset>
        <fieldset>
          <legend>When the files are made</legend>
          <div class="choice">
            <input type="radio" name="deliver" value="yes" id="run-deliver" required checked={kept.deliver === 'yes'} />
            <label for="run-deliver">Deliver them to the recipients</label>
          </div>
          <div class="choice">
            <input type="radio" name="deliver" value="no" id="run-keep" required checked={kept.deliver === 'no'} />
            <label for="run-keep">Keep them in the archive, send nothing</label>
          </div>
        </fieldset>
        {own?.error.code === 'already_delivered' ? (
          <div class="choice">
            <input type="checkbox" name="again" value="yes" id="run-again" />
            <label for="run-again">Send it again, to all its recipients</label>
          </div>
        ) : null}
        <button type="submit" class="primary">
          Run
        </button>
        <p class="hint">It goes first in the line of its API key. Sending this form twice makes one run.</p>
      </form>
    </details>
  );
};
