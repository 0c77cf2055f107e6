import { DateTime } from 'luxon';
import { MINUTE_MS } from '../../base/time.ts';
import type { SimulatedKey } from '../../services/forecast/simulate-runs.ts';

const BARS = '▁▂▃▄▅▆▇█';
/** Nothing in this minute. */
const EMPTY = '·';
const MINUTES = 60;

/**
 * The tokens of a key by minute: a line for each hour with a call, of at most 80 columns. A full bar is the limit.
 *
 * @param zone in which hours begin; `utc` as for programs
 */
export function chartLines({ minutes, limits }: Pick<SimulatedKey, 'minutes' | 'limits'>, zone: string): string[] {
  const hours = new Map<number, number[]>();
  for (const { at, tokens } of minutes) {
    const hour = DateTime.fromMillis(at, { zone }).startOf('hour').toMillis();
    const bars = hours.get(hour) ?? Array.from({ length: MINUTES }, () => 0);
    bars[Math.floor((at - hour) / MINUTE_MS)] = tokens;
    hours.set(hour, bars);
  }
  return [...hours].map(([hour, bars]) => {
    const time = DateTime.fromMillis(hour, { zone, locale: 'en-US' });
    const label = zone === 'utc' ? time.toFormat("yyyy-MM-dd'T'HH:mm'Z'") : time.toFormat('ccc d LLL HH:mm');
    return `${label.padEnd(17)} ${bars.map((tokens) => barOf(tokens / limits.calls)).join('')}`;
  });
}

const barOf = (share: number): string =>
  share === 0 ? EMPTY : (BARS[Math.min(BARS.length, Math.ceil(share * BARS.length)) - 1] ?? EMPTY);
