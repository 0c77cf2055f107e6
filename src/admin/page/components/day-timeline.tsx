import { DateTime } from 'luxon';
import { HOUR_MS } from '../../../base/time.ts';
import type { RunRecord } from '../../../run/run-record.ts';
import type { SlotEntry } from '../../access/reports.ts';
import { usePageSettings } from './header/settings.tsx';
import { RUN_STATE_LABELS } from './status-badge.tsx';

/** The range of the timeline around now. */
const BEFORE_MS = 6 * HOUR_MS;
export const AFTER_MS = 18 * HOUR_MS;

interface DayTimelineProps {
  readonly runs: readonly RunRecord[];
  readonly slots: readonly SlotEntry[];
  readonly now: number;
  /** IANA zone of the hours if there is no page around the timeline. */
  readonly zone: string;
}

/**
 * Six hours back and eighteen ahead: a dot for each of the newest runs, coloured by state, and a circle for each of the
 * next slots. The lists on the page say the same as text.
 */
export const DayTimeline = ({ runs, slots, now, zone: ofOrganizations }: DayTimelineProps) => {
  const page = usePageSettings();
  const zone = page?.zone ?? ofOrganizations;
  const nameOf = (org: string, report: string): string => page?.titleOf(org, report) ?? `${org}/${report}`;
  const from = now - BEFORE_MS;
  const position = (at: number): string => `${(((at - from) / (BEFORE_MS + AFTER_MS)) * 100).toFixed(2)}%`;
  const inRange = (at: number): boolean => at >= from && at <= now + AFTER_MS;
  const past = runs.filter(({ createdAt }) => inRange(createdAt));
  const ahead = slots.filter(({ begins }) => inRange(Date.parse(begins)));
  return (
    <figure class="timeline" id="timeline" data-live>
      <svg
        width="100%"
        height="64"
        role="img"
        aria-label={`Runs of the last 6 hours: the newest ${past.length}. Slots of the next 18 hours: ${ahead.length}.`}
      >
        <line class="base" x1="0" x2="100%" y1="40" y2="40" />
        {hourTicks(from, now + AFTER_MS, zone).map(({ at, text, major }) => (
          <g class={major ? 'hour major' : 'hour'}>
            <line x1={position(at)} x2={position(at)} y1={major ? '34' : '37'} y2="43" />
            {text === '' ? null : (
              <text x={position(at)} y="58" text-anchor="middle">
                {text}
              </text>
            )}
          </g>
        ))}
        {ahead.map(({ begins, paused, org, report }) => (
          <circle class={paused ? 'slot paused' : 'slot'} cx={position(Date.parse(begins))} cy="40" r="5">
            <title>{`${nameOf(org, report)}${paused ? ', paused' : ''}`}</title>
          </circle>
        ))}
        {past.map(({ createdAt, state, org, report }) => (
          <circle class={`run ${RUN_STATE_LABELS[state].tone}`} cx={position(createdAt)} cy="40" r="5">
            <title>{`${nameOf(org, report)}: ${RUN_STATE_LABELS[state].label}`}</title>
          </circle>
        ))}
        <line class="now" x1={position(now)} x2={position(now)} y1="14" y2="46" />
        <text class="now" x={position(now)} y="10" text-anchor="middle">
          {`now ${DateTime.fromMillis(now, { zone }).toFormat('HH:mm')}`}
        </text>
      </svg>
    </figure>
  );
};

/** The full hours of the zone. Every third has a label. */
function hourTicks(from: number, until: number, zone: string) {
  const found: { readonly at: number; readonly text: string; readonly major: boolean }[] = [];
  let time = DateTime.fromMillis(from, { zone }).startOf('hour').plus({ hours: 1 });
  for (; time.toMillis() <= until; time = time.plus({ hours: 1 })) {
    const major = time.hour % 3 === 0;
    const text = time.hour === 0 ? time.toFormat('ccc d') : major ? time.toFormat('HH') : '';
    found.push({ at: time.toMillis(), text, major });
  }
  return found;
}
