import { DateTime } from 'luxon';
import type { Pause } from '../../../queue/schedules/pauses.ts';
import type { RunRecord } from '../../../run/run-record.ts';
import type { OrganizationEntry, SlotEntry } from '../../access/reports.ts';
import { WithCommands } from '../components/deployment-problems.tsx';
import { usePageSettings } from '../components/header/settings.tsx';
import { EmptyState, OrganizationSelect, PageLayout, Section, Table, type ViewProps } from '../components/layout.tsx';
import { ReportLink, RunLink, runZone } from '../components/run-table.tsx';
import { RelativeTime, Timestamp } from '../components/time.tsx';

/** Slots by the day on which they start, in the zone of the page. */
export const SlotList = ({ slots, now }: { readonly slots: readonly SlotEntry[]; readonly now: number }) => {
  const zone = usePageSettings()?.zone;
  return slots.length === 0 ? (
    <EmptyState>
      No report has an upcoming slot. Add a <code>schedule</code> to a definition.
    </EmptyState>
  ) : (
    <div>
      {byDay(slots, now, zone).map(([day, slotsOfDay]) => (
        <>
          <h3 class="day">{day}</h3>
          <ul class="slots">
            {slotsOfDay.map((slot) => (
              <li class={slot.paused ? 'paused' : ''}>
                <Timestamp at={Date.parse(slot.begins)} zone={slot.timezone} short />
                <span>
                  <ReportLink {...slot} />
                </span>
                <span class="muted">
                  {slot.paused ? 'paused' : <RelativeTime at={Date.parse(slot.begins)} now={now} />}
                </span>
              </li>
            ))}
          </ul>
        </>
      ))}
    </div>
  );
};

/** Groups slots by `Today`, `Tomorrow`, `Mon 23 Nov 2026`. @param pageZone undefined: uses the zone of each slot */
function byDay(
  slots: readonly SlotEntry[],
  now: number,
  pageZone: string | undefined,
): readonly (readonly [string, readonly SlotEntry[]])[] {
  const days = new Map<string, SlotEntry[]>();
  for (const slot of slots) {
    const zone = pageZone ?? slot.timezone;
    const time = DateTime.fromISO(slot.begins, { zone, locale: 'en-GB' });
    const today = DateTime.fromMillis(now, { zone }).startOf('day');
    const ahead = Math.round(time.startOf('day').diff(today, 'days').days);
    const day = ahead === 0 ? 'Today' : ahead === 1 ? 'Tomorrow' : time.toFormat('ccc d LLL yyyy');
    days.set(day, [...(days.get(day) ?? []), slot]);
  }
  return [...days];
}

/** Maximum slots on the page. */
export const MAX_SLOTS = 100;
/** Maximum slots on the page that did not run. */
export const MAX_SKIPPED = 10;
/** Slots that did not run are listed for this long. */
export const SKIPPED_DAYS = 7;

export interface SlotsData {
  readonly organizations: readonly OrganizationEntry[];
  readonly slots: readonly SlotEntry[];
  readonly pauses: readonly Pause[];
  /** Slots that did not run, newest first. */
  readonly skipped: readonly RunRecord[];
  readonly org: string | undefined;
  /** The range of the list, in days from now. */
  readonly days: number;
}

export const Slots = ({ layout, data }: ViewProps<SlotsData>) => (
  <PageLayout layout={layout} title="Slots" current="/slots">
    <h1>Slots</h1>
    <p class="lead">Upcoming scheduled runs.</p>
    <form class="filter" method="get" action="/slots">
      <OrganizationSelect organizations={data.organizations} selected={data.org} />
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
    <SlotTable slots={data.slots} pauses={data.pauses} now={layout.now} />
    {data.slots.length < MAX_SLOTS ? null : (
      <p class="more muted">These are the next {MAX_SLOTS}. Choose an organization to see more of its slots.</p>
    )}
    {data.skipped.length === 0 ? null : (
      <Section id="skipped" heading={`Did not run in the last ${SKIPPED_DAYS} days`}>
        <SkippedTable skipped={data.skipped} />
        <p class="more">
          <a href="/runs?state=skipped">All skipped runs</a>
        </p>
      </Section>
    )}
  </PageLayout>
);

const SkippedTable = ({ skipped }: Pick<SlotsData, 'skipped'>) => (
  <Table caption="Slots that did not run, newest first" columns={['Slot', 'Report', 'Why', 'Run']} live="skipped-rows">
    {skipped.map((run) => (
      <tr>
        <td>
          <Timestamp at={Date.parse(run.slot)} zone={runZone(run)} weekday />
        </td>
        <td data-name="Report">
          <ReportLink {...run} /> <small>{run.period.label}</small>
        </td>
        <td data-name="Why" class="wrap">
          {run.error?.message ?? 'The slot was not opened.'}
          {run.error?.next === undefined ? null : (
            <small class="line">
              <WithCommands text={run.error.next} />
            </small>
          )}
        </td>
        <td data-name="Run">
          <RunLink run={run} />
        </td>
      </tr>
    ))}
  </Table>
);

/** Who has paused the report or its organization, and why. */
const PausedBy = ({ slot: { org, report }, pauses }: { readonly slot: SlotEntry } & Pick<SlotsData, 'pauses'>) => {
  const pause = pauses.find((each) => each.org === org && (each.report ?? report) === report);
  return (
    <>
      <a class="state warn" href="/pauses">
        Paused
      </a>{' '}
      {pause === undefined ? null : (
        <small class="wrap">
          by {pause.who}: {pause.why}
        </small>
      )}
    </>
  );
};

interface SlotTableProps extends Pick<SlotsData, 'slots' | 'pauses'> {
  /** Epoch ms. */
  readonly now: number;
}

const SlotTable = ({ slots, pauses, now }: SlotTableProps) =>
  slots.length === 0 ? (
    <EmptyState>
      No slots in this range. Choose a longer one, or add a <code>schedule</code> to a definition.
    </EmptyState>
  ) : (
    <Table caption="Slots, soonest first" columns={['Begins', 'Report', 'Schedule', 'State']} live="slot-rows">
      {slots.map((slot) => (
        <tr>
          <td>
            <Timestamp at={Date.parse(slot.begins)} zone={slot.timezone} weekday />{' '}
            <small>
              <RelativeTime at={Date.parse(slot.begins)} now={now} />
            </small>
          </td>
          <td data-name="Report">
            <ReportLink {...slot} />
          </td>
          <td data-name="Schedule">
            <code>{slot.schedule}</code> <small>{slot.timezone}</small>
          </td>
          <td data-name="State">{slot.paused ? <PausedBy slot={slot} pauses={pauses} /> : 'Active'}</td>
        </tr>
      ))}
    </Table>
  );
