import { DateTime } from 'luxon';
import { HOUR_MS, MINUTE_MS } from '../../../base/time.ts';
import type { ForecastDocument } from '../../../services/forecast/forecast-document.ts';
import { formatCounted } from './format-numbers.ts';

const MINUTES = 60;
const HEIGHT = 28;
/** Maximum hours drawn per key: those with the most tokens. */
const MAX_HOURS = 24;

interface MinuteChartProps {
  readonly of: ForecastDocument['keys'][number];
  /** IANA zone in which hours begin. */
  readonly zone: string;
}

/**
 * The tokens of a key by minute, with a row for each hour that has a call. A bar of full height is the limit of a
 * window.
 */
export const MinuteChart = ({ of: { minutes, limit, window_seconds }, zone }: MinuteChartProps) => {
  const most = Math.max(1, (limit * MINUTES) / Math.max(1, window_seconds));
  const hours = byHour(minutes, zone);
  const shown = [...hours]
    .map(([hour, bars]) => ({ hour, bars, sum: bars.reduce((all, one) => all + one, 0) }))
    .sort((a, b) => b.sum - a.sum)
    .slice(0, MAX_HOURS)
    .sort((a, b) => a.hour - b.hour);
  return (
    <>
      <ul class="minute-chart">
        {shown.map(({ hour, bars, sum }) => {
          const full = bars.filter((tokens) => tokens >= most).length;
          const time = DateTime.fromMillis(hour, { zone, locale: 'en-GB' });
          return (
            <li>
              <span>{time.toFormat('ccc HH:mm')}</span>
              <svg
                viewBox={`0 0 ${MINUTES} ${HEIGHT}`}
                preserveAspectRatio="none"
                height={HEIGHT}
                width="100%"
                role="img"
                aria-label={`${time.toFormat('ccc HH:mm')}: ${formatCounted(sum, 'call')}, ${full === 0 ? 'never full' : `full in ${formatCounted(full, 'minute')}`}`}
              >
                {bars.map((tokens, minute) => {
                  const height = Math.min(1, tokens / most) * HEIGHT;
                  return tokens === 0 ? null : (
                    <rect
                      class={tokens >= most ? 'full' : ''}
                      x={minute + 0.1}
                      width="0.8"
                      y={(HEIGHT - height).toFixed(1)}
                      height={height.toFixed(1)}
                    />
                  );
                })}
              </svg>
              <span class="number muted">{sum}</span>
            </li>
          );
        })}
      </ul>
      {hours.size <= MAX_HOURS ? null : <p class="muted">These are the {MAX_HOURS} hours with the most calls.</p>}
    </>
  );
};

function byHour(minutes: MinuteChartProps['of']['minutes'], zone: string): ReadonlyMap<number, number[]> {
  const hours = new Map<number, number[]>();
  for (const { at, tokens } of minutes) {
    const time = DateTime.fromISO(at, { zone });
    const hour = time.startOf('hour').toMillis();
    const bars = hours.get(hour) ?? Array.from({ length: MINUTES }, () => 0);
    bars[Math.floor(((time.toMillis() - hour) % HOUR_MS) / MINUTE_MS)] = tokens;
    hours.set(hour, bars);
  }
  return hours;
}
