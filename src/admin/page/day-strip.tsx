import { DateTime } from 'luxon';
import type { RunRecord } from '../../run/record.ts';
import type { SlotEntry } from '../access.ts';
import { RUN_LOOK } from './state.tsx';

const HOUR = 3_600_000;
/** The strip shows so much of what was and of what comes. */
export const BEFORE_MS = 6 * HOUR;
export const AFTER_MS = 18 * HOUR;

interface StripProps {
  readonly runs: readonly RunRecord[];
  readonly slots: readonly SlotEntry[];
  readonly now: number;
  /** IANA zone of the hours. */
  readonly zone: string;
}

/**
 * Six hours back and eighteen ahead: a mark for each of the newest runs, coloured by its state, and a hollow one for each of the next slots. The lists
 * beside it say the same in words, so that nobody needs to see it.
 */
export const DayStrip = ({ runs, slots, now, zone }: StripProps) => {
  const from = now - BEFORE_MS;
  const place = (at: number): string => `${(((at - from) / (BEFORE_MS + AFTER_MS)) * 100).toFixed(2)}%`;
  const within = (at: number): boolean => at >= from && at <= now + AFTER_MS;
  const past = runs.filter(({ createdAt }) => within(createdAt));
  const ahead = slots.filter(({ begins }) => within(Date.parse(begins)));
  return (
    <figure class="strip" id="strip" data-live>
      <svg
        width="100%"
        height="64"
        role="img"
        aria-label={`The newest ${past.length} runs of the last 6 hours, the next ${ahead.length} slots of the coming 18`}
      >
        <line class="base" x1="0" x2="100%" y1="40" y2="40" />
        {hours(from, now + AFTER_MS, zone).map(({ at, text, major }) => (
          <g class={major ? 'hour major' : 'hour'}>
            <line x1={place(at)} x2={place(at)} y1={major ? '34' : '37'} y2="43" />
            {text === '' ? null : (
              <text x={place(at)} y="58" text-anchor="middle">
                {text}
              </text>
            )}
          </g>
        ))}
        {ahead.map(({ begins, paused, org, report }) => (
          <circle class={paused ? 'slot paused' : 'slot'} cx={place(Date.parse(begins))} cy="40" r="5">
            <title>{`${org}/${report}${paused ? ', paused' : ''}`}</title>
          </circle>
        ))}
        {past.map(({ createdAt, state, org, report }) => (
          <circle class={`run ${RUN_LOOK[state].tone}`} cx={place(createdAt)} cy="40" r="5">
            <title>{`${org}/${report}: ${RUN_LOOK[state].word}`}</title>
          </circle>
        ))}
        <line class="now" x1={place(now)} x2={place(now)} y1="14" y2="46" />
        <text class="now" x={place(now)} y="10" text-anchor="middle">
          {`now ${DateTime.fromMillis(now, { zone }).toFormat('HH:mm')}`}
        </text>
      </svg>
      <figcaption>Hours in {zone}</figcaption>
    </figure>
  );
};

/** Full hours of the zone; every third has a text. */
function hours(from: number, until: number, zone: string) {
  const found: { readonly at: number; readonly text: string; readonly major: boolean }[] = [];
  let time = DateTime.fromMillis(from, { zone }).startOf('hour').plus({ hours: 1 });
  for (; time.toMillis() <= until; time = time.plus({ hours: 1 })) {
    const major = time.hour % 3 === 0;
    const text = time.hour === 0 ? time.toFormat('ccc d') : major ? time.toFormat('HH') : '';
    found.push({ at: time.toMillis(), text, major });
  }
  return found;
}
