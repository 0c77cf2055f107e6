import { DateTime } from 'luxon';
import type { OrganizationEntry, SlotEntry } from '../access.ts';
import { Empty, type Frame, Page } from './frame.tsx';
import { ReportLink } from './run-parts.tsx';
import { At, Distance } from './time.tsx';

/** Slots by the day on which they begin, in the zone of each. */
export const SlotList = ({ slots, now }: { readonly slots: readonly SlotEntry[]; readonly now: number }) =>
  slots.length === 0 ? (
    <Empty>
      No report has a schedule that will come due. Give one a <code>schedule</code> in its definition.
    </Empty>
  ) : (
    <div>
      {byDay(slots, now).map(([day, own]) => (
        <>
          <h3 class="day">{day}</h3>
          <ul class="slots">
            {own.map((slot) => (
              <li class={slot.paused ? 'waits' : ''}>
                <At at={Date.parse(slot.begins)} zone={slot.timezone} short />
                <ReportLink {...slot} />
                <span class="soft">{slot.paused ? 'paused' : <Distance at={Date.parse(slot.begins)} now={now} />}</span>
              </li>
            ))}
          </ul>
        </>
      ))}
    </div>
  );

/** `Today`, `Tomorrow`, `Mon 23 Nov 2026`: the day that the slot's own zone has then. */
function byDay(slots: readonly SlotEntry[], now: number): readonly (readonly [string, readonly SlotEntry[]])[] {
  const days = new Map<string, SlotEntry[]>();
  for (const slot of slots) {
    const time = DateTime.fromISO(slot.begins, { zone: slot.timezone, locale: 'en-GB' });
    const today = DateTime.fromMillis(now, { zone: slot.timezone }).startOf('day');
    const ahead = Math.round(time.startOf('day').diff(today, 'days').days);
    const day = ahead === 0 ? 'Today' : ahead === 1 ? 'Tomorrow' : time.toFormat('ccc d LLL yyyy');
    days.set(day, [...(days.get(day) ?? []), slot]);
  }
  return [...days];
}

export interface SlotsData {
  readonly organizations: readonly OrganizationEntry[];
  readonly slots: readonly SlotEntry[];
  readonly org: string | undefined;
  /** Days that are looked ahead. */
  readonly days: number;
}

export const Slots = ({ frame, data }: { readonly frame: Frame; readonly data: SlotsData }) => (
  <Page frame={frame} title="Slots" place="/slots">
    <h1>Slots</h1>
    <p class="lead">When scheduled runs begin, each in the zone of its schedule.</p>
    <form class="filter" method="get" action="/slots">
      <label>
        Organization
        <select name="org">
          <option value="">all</option>
          {data.organizations.map(({ org }) => (
            <option value={org} selected={org === data.org}>
              {org}
            </option>
          ))}
        </select>
      </label>
      <label>
        Ahead
        <select name="days">
          {[1, 7, 31].map((days) => (
            <option value={days} selected={days === data.days}>
              {days === 1 ? '1 day' : `${days} days`}
            </option>
          ))}
        </select>
      </label>
      <button type="submit">Show</button>
    </form>
    <SlotTable slots={data.slots} now={frame.now} />
  </Page>
);

const SlotTable = ({ slots, now }: { readonly slots: readonly SlotEntry[]; readonly now: number }) =>
  slots.length === 0 ? (
    <Empty>
      No slot comes due in this time. Look further ahead, or give a report a <code>schedule</code> in its definition.
    </Empty>
  ) : (
    <table class="rows">
      <caption class="unseen">Slots, the soonest first</caption>
      <thead>
        <tr>
          <th scope="col">Begins</th>
          <th scope="col">In</th>
          <th scope="col">Report</th>
          <th scope="col">Schedule</th>
          <th scope="col">State</th>
        </tr>
      </thead>
      <tbody>
        {slots.map((slot) => (
          <tr>
            <td>
              <At at={Date.parse(slot.begins)} zone={slot.timezone} weekday />
            </td>
            <td data-name="In">
              <Distance at={Date.parse(slot.begins)} now={now} />
            </td>
            <td data-name="Report">
              <ReportLink {...slot} /> <span class="soft">{slot.title}</span>
            </td>
            <td data-name="Schedule">
              <code>{slot.schedule}</code> <span class="soft">{slot.timezone}</span>
            </td>
            <td data-name="State">{slot.paused ? <span class="state warn">Paused</span> : 'In force'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
