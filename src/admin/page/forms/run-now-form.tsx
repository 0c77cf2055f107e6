import type { Period } from '../../../definitions/periods/period.ts';
import { ErrorDetails } from '../components/error-details.tsx';
import { Csrf, type LayoutData } from '../components/layout.tsx';
import type { RejectedForm } from './reason-form.tsx';

/** Named periods of the form. A definition can use others. */
const PERIODS: readonly (readonly [string, readonly string[]])[] = [
  ['Completed periods', ['previous_day', 'previous_week', 'previous_month', 'previous_quarter', 'previous_year']],
  ['Up to today', ['week_to_date', 'month_to_date', 'quarter_to_date', 'year_to_date']],
  [
    'Last',
    ['last_7_days', 'last_30_days', 'last_90_days', 'last_4_weeks', 'last_12_weeks', 'last_3_months', 'last_12_months'],
  ],
  [
    'Current periods, future days included',
    ['current_day', 'current_week', 'current_month', 'current_quarter', 'current_year'],
  ],
];
/** The choices in order. Undefined is the period of the definition. */
export const PERIOD_CHOICES: readonly (string | undefined)[] = [undefined, ...PERIODS.flatMap(([, names]) => names)];

interface RunNowProps {
  readonly layout: LayoutData;
  readonly path: string;
  readonly trigger: string;
  /** The days of each entry of `PERIOD_CHOICES`. Empty if they are unknown. */
  readonly periods: readonly Period[];
  /** For a report with `split`: the packs that have recipients. */
  readonly packs: readonly string[];
  readonly refused: RejectedForm | undefined;
}

/**
 * Triggers a run: its period, and whether to deliver it. Exact days take precedence over a named period. If the period
 * was already delivered, the form is rejected and offers to deliver again.
 */
export const RunNowForm = ({ layout, path, trigger, periods, packs, refused }: RunNowProps) => {
  const action = `${path}/run`;
  const rejected = refused?.action === action ? refused : undefined;
  const values = rejected?.values ?? {};
  const days = (name: string | undefined): string => {
    const period = periods[PERIOD_CHOICES.indexOf(name)];
    return period === undefined ? '' : `: ${[...new Set([period.from, period.to])].join(' to ')}`;
  };
  const zone = periods[0]?.timezone;
  return (
    <details class="action" open={rejected !== undefined}>
      <summary class="button primary">Run now…</summary>
      <form method="post" action={action}>
        <Csrf layout={layout} />
        <input type="hidden" name="trigger" value={trigger} />
        {rejected === undefined ? null : (
          <ErrorDetails error={rejected.error} id="run-error" heading="Run not triggered" />
        )}
        <label for="run-period">Period{zone === undefined ? null : <span class="zone"> in days of {zone}</span>}</label>
        <select id="run-period" name="period">
          <option value="">as the definition says{days(undefined)}</option>
          {PERIODS.map(([label, names]) => (
            <optgroup label={label}>
              {names.map((name) => (
                <option value={name} selected={values.period === name}>
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
            <input type="date" name="from" value={values.from ?? ''} />
          </label>
          <label>
            Last
            <input type="date" name="to" value={values.to ?? ''} />
          </label>
        </fieldset>
        <div class="choice">
          <input
            type="checkbox"
            name="unfinished"
            value="yes"
            id="run-unfinished"
            checked={values.unfinished === 'yes'}
          />
          <label for="run-unfinished">Even if the last day is not over: the figures so far</label>
        </div>
        {packs.length === 0 ? null : (
          <>
            <label for="run-value">Pack</label>
            <select id="run-value" name="value">
              <option value="">all {packs.length}</option>
              {packs.map((value) => (
                <option value={value} selected={values.value === value}>
                  {value}
                </option>
              ))}
            </select>
          </>
        )}
        <fieldset>
          <legend>When the files are created</legend>
          <div class="choice">
            <input
              type="radio"
              name="deliver"
              value="yes"
              id="run-deliver"
              required
              checked={values.deliver === 'yes'}
            />
            <label for="run-deliver">Deliver them to the recipients</label>
          </div>
          <div class="choice">
            <input type="radio" name="deliver" value="no" id="run-keep" required checked={values.deliver === 'no'} />
            <label for="run-keep">Keep them in the archive, send nothing</label>
          </div>
        </fieldset>
        {rejected?.error.code === 'already_delivered' ? (
          <div class="choice">
            <input type="checkbox" name="again" value="yes" id="run-again" />
            <label for="run-again">Deliver again, to all recipients</label>
          </div>
        ) : null}
        <button type="submit" class="primary">
          Run
        </button>
        <p class="hint">
          The run goes to the front of the API key&rsquo;s queue. Sending this form twice triggers one run.
        </p>
      </form>
    </details>
  );
};
