import { lacksPermission, type Pause } from '../../../queue/schedules/pauses.ts';
import { canAct, EmptyState, PageLayout, Section, type ViewProps } from '../components/layout.tsx';
import { ReportLink, reportPath } from '../components/run-table.tsx';
import { When, zonesOf } from '../components/time.tsx';
import { ReasonForm } from '../forms/reason-form.tsx';
import type { Loaded, loadPauses } from '../routes/loaders.ts';

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
      since <When at={pause.since} zone={zone} now={now} /> by {pause.who}
      {pause.key === null ? null : (
        <>
          , because the API key <code>{pause.key}</code> {lacksPermission(pause) ? 'lacks a permission' : 'was refused'}
        </>
      )}
    </p>
    <p class="quote">{pause.why}</p>
  </>
);

/** The path that the form of a pause posts to, without the action. */
const pausePath = (org: string, report: string | null): string =>
  report === null ? `/organizations/${encodeURIComponent(org)}` : reportPath(org, report);

/** Further pauses of reports are resumed on the pages of these. */
const MAX_FORMS = 20;

export const Pauses = ({ layout, data, notice }: ViewProps<Loaded<typeof loadPauses>>) => {
  const zones = zonesOf(data.organizations);
  // Those of organizations first: they have no page of their own to resume them on.
  const pauses = [...data.pauses].sort((a, b) => Number(a.report !== null) - Number(b.report !== null));
  const free = data.organizations.filter(({ pause }) => pause === null);
  return (
    <PageLayout layout={layout} title="Pauses" current="/pauses" notice={notice}>
      <h1>Pauses</h1>
      <p class="lead">
        Scheduled runs of a paused organization or report wait. Runs on demand still start. Pause a single report on its
        page.
      </p>
      {data.pauses.length === 0 ? (
        <EmptyState>Nothing is paused: all schedules are active.</EmptyState>
      ) : (
        <ul class="entries">
          {pauses.map((pause, index) => (
            <li>
              <PauseLine pause={pause} zone={zones.of(pause.org)} now={layout.now} />
              {canAct(layout) && (index < MAX_FORMS || pause.report === null) ? (
                <ReasonForm
                  layout={layout}
                  action={`${pausePath(pause.org, pause.report)}/resume`}
                  from="/pauses"
                  label={`Resume ${pause.report === null ? pause.org : `${pause.org}/${pause.report}`}`}
                  question="Why is it resumed?"
                  refused={data.refused}
                />
              ) : null}
            </li>
          ))}
        </ul>
      )}
      {canAct(layout) && free.length > 0 ? (
        <Section id="organizations" heading="Pause an organization">
          <ul class="entries">
            {free.map(({ org, name, reports }) => (
              <li>
                <p>
                  <strong>{name}</strong> {name === org ? null : <small>{org}</small>} ·{' '}
                  {reports === 1 ? '1 report' : `${reports} reports`}
                </p>
                <ReasonForm
                  layout={layout}
                  action={`${pausePath(org, null)}/pause`}
                  from="/pauses"
                  label={`Pause ${org}`}
                  question="Why is it paused?"
                  refused={data.refused}
                />
              </li>
            ))}
          </ul>
        </Section>
      ) : null}
    </PageLayout>
  );
};
