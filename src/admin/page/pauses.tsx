import type { Pause } from '../../queue/pauses.ts';
import type { OrganizationEntry } from '../access.ts';
import { Empty, type Frame, mayAct, Page } from './frame.tsx';
import { ReasonForm, type Refused } from './reason-form.tsx';
import { ReportLink, reportPath } from './run-parts.tsx';
import { At, Distance } from './time.tsx';
import { zonesOf } from './zones.ts';

/** What is paused, since when, by whom and why. */
export const PauseLine = ({
  pause,
  zone,
  now,
}: {
  readonly pause: Pause;
  readonly zone: string;
  readonly now: number;
}) => (
  <>
    <p>
      <strong>
        {pause.report === null ? `All of ${pause.org}` : <ReportLink org={pause.org} report={pause.report} />}
      </strong>{' '}
      since <At at={pause.since} zone={zone} /> <span class="soft">({<Distance at={pause.since} now={now} />})</span> by{' '}
      {pause.who}
      {pause.key === null ? null : (
        <>
          , because key <code>{pause.key}</code> was refused
        </>
      )}
    </p>
    <p class="quote">{pause.why}</p>
  </>
);

/** Where the form of a pause goes. */
export const pausePath = (org: string, report: string | null): string =>
  report === null ? `/organizations/${encodeURIComponent(org)}` : reportPath(org, report);

export interface PausesData {
  readonly organizations: readonly OrganizationEntry[];
  readonly pauses: readonly Pause[];
  readonly refused?: Refused | undefined;
}

export const Pauses = ({
  frame,
  data,
  notice,
}: {
  readonly frame: Frame;
  readonly data: PausesData;
  readonly notice?: string | undefined;
}) => {
  const zones = zonesOf(data.organizations);
  const free = data.organizations.filter(({ pause }) => pause === null);
  return (
    <Page frame={frame} title="Pauses" place="/pauses" notice={notice}>
      <h1>Pauses</h1>
      <p class="lead">
        Scheduled runs of what is paused wait. Runs on demand still run. A report alone is paused on its own page.
      </p>
      {data.pauses.length === 0 ? (
        <Empty>Nothing is paused: every schedule is in force.</Empty>
      ) : (
        <ul class="entries">
          {data.pauses.map((pause) => (
            <li>
              <PauseLine pause={pause} zone={zones.of(pause.org)} now={frame.now} />
              {mayAct(frame) ? (
                <ReasonForm
                  frame={frame}
                  action={`${pausePath(pause.org, pause.report)}/resume`}
                  from="/pauses"
                  label={`Resume ${pause.report === null ? pause.org : `${pause.org}/${pause.report}`}`}
                  ask="Why may it go on?"
                  refused={data.refused}
                />
              ) : null}
            </li>
          ))}
        </ul>
      )}
      {mayAct(frame) && free.length > 0 ? (
        <section aria-labelledby="organizations">
          <h2 id="organizations">Pause an organization</h2>
          <ul class="entries">
            {free.map(({ org, name, reports }) => (
              <li>
                <p>
                  <strong>{org}</strong> <span class="soft">{name}</span> ·{' '}
                  {reports === 1 ? '1 report' : `${reports} reports`}
                </p>
                <ReasonForm
                  frame={frame}
                  action={`${pausePath(org, null)}/pause`}
                  from="/pauses"
                  label={`Pause ${org}`}
                  ask="Why does it wait?"
                  refused={data.refused}
                />
              </li>
            ))}
          </ul>
        </section>
      ) : null}
    </Page>
  );
};
