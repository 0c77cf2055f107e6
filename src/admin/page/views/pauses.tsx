import { lacksPermission, type Pause } from '../../../queue/schedules/pauses.ts';
import { type StoppedRun, SWITCH_KINDS, type Switch } from '../../../services/switches/switch-service.ts';
import { canAct, EmptyState, type LayoutData, PageLayout, Section, type ViewProps } from '../components/layout.tsx';
import { ReportLink, reportPath } from '../components/run-table.tsx';
import { collectZones, When } from '../components/time.tsx';
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

/** The path that the forms of a pause post to, without the action. */
const pausePath = (org: string, report: string | null): string =>
  report === null ? `/organizations/${encodeURIComponent(org)}` : reportPath(org, report);

/** The path that the forms of a stop or a hold post to, without the action. */
const switchPath = (org: string | null): string => (org === null ? '/pauses' : pausePath(org, null));

/**
 * The runs that wait for the release of a stop. A run that a newer one replaces is not sent unless its box is ticked.
 */
const WaitingRuns = ({ runs, zones, now }: { runs: readonly StoppedRun[]; zones: OrgZones; now: number }) => (
  <>
    {runs.length === 0 ? <p>No run waits for it.</p> : null}
    <ul>
      {runs.map(({ record: { id, org, report, period, createdAt }, replacedBy }) => (
        <li>
          <a href={`/runs/${id}`}>
            {org}/{report} {period.label}
          </a>
          , created <When at={createdAt} zone={zones.of(org)} now={now} />
          {replacedBy === null ? null : (
            <>
              , {replacedBy.why} by <a href={`/runs/${replacedBy.run}`}>a newer run</a>
            </>
          )}
          <label>
            <input type="checkbox" name={replacedBy === null ? 'except' : 'also'} value={id} />{' '}
            {replacedBy === null ? 'Do not send it' : 'Send it anyway'}
          </label>
        </li>
      ))}
    </ul>
  </>
);

const SwitchEntry = ({ one: { kind, org, by, since, reason }, layout, data, zones }: SwitchEntryProps) => (
  <li>
    <p>
      <strong>
        {kind === 'stop' ? 'Deliveries are stopped' : 'Legal hold'} for {org ?? 'everything'}
      </strong>{' '}
      since <When at={since} zone={zones.of(org ?? '')} now={layout.now} /> by {by}
    </p>
    <p class="quote">{reason}</p>
    {canAct(layout) && (org !== null || layout.principal.orgs === '*') ? (
      <ReasonForm
        layout={layout}
        action={`${switchPath(org)}/release-${kind}`}
        from="/pauses"
        label={`Release ${kind === 'stop' ? 'the stop of' : 'the hold of'} ${org ?? 'everything'}`}
        question="Why is it released?"
        refused={data.refused}
      >
        {kind === 'stop' ? (
          <WaitingRuns
            runs={data.waiting.filter(({ record }) => org === null || record.org === org)}
            zones={zones}
            now={layout.now}
          />
        ) : null}
      </ReasonForm>
    ) : (
      <p class="hint">
        <code>{`docket ${kind} ${org ?? '--all'} --release --reason "…"`}</code> ends it.
      </p>
    )}
  </li>
);

/** Buttons that stop deliveries or set a legal hold, unless already in force. */
const SwitchForms = ({ org, layout, data }: Pick<SwitchEntryProps, 'layout' | 'data'> & { org: string | null }) => (
  <>
    {SWITCH_KINDS.filter((kind) => !data.switches.some((one) => one.kind === kind && one.org === org)).map((kind) => (
      <ReasonForm
        layout={layout}
        action={`${switchPath(org)}/${kind}`}
        from="/pauses"
        label={`${kind === 'stop' ? 'Stop deliveries of' : 'Legal hold for'} ${org ?? 'everything'}`}
        question={kind === 'stop' ? 'Why are they stopped?' : 'Why is the hold needed?'}
        refused={data.refused}
        danger={kind === 'stop'}
      />
    ))}
  </>
);

/** Maximum forms. Further pauses of reports are resumed on the pages of those reports. */
const MAX_FORMS = 20;

type OrgZones = ReturnType<typeof collectZones>;
interface SwitchEntryProps {
  readonly one: Switch;
  readonly layout: LayoutData;
  readonly data: Loaded<typeof loadPauses>;
  readonly zones: OrgZones;
}

export const Pauses = ({ layout, data, notice }: ViewProps<Loaded<typeof loadPauses>>) => {
  const zones = collectZones(data.organizations);
  // Organizations first, because they have no page of their own to resume them on.
  const pauses = [...data.pauses].sort((a, b) => Number(a.report !== null) - Number(b.report !== null));
  return (
    <PageLayout layout={layout} title="Pauses" current="/pauses" notice={notice}>
      <h1>Pauses</h1>
      <p class="lead">
        Scheduled runs of a paused organization or report wait. Runs on demand still start. Pause a single report on its
        page.
        {layout.principal.orgs === '*' ? (
          <>
            {' '}
            The <a href="/denied">deny list</a> stops mail to single addresses.
          </>
        ) : null}
      </p>
      {data.switches.length === 0 ? null : (
        <Section id="switches" heading="Stops and legal holds">
          <ul class="entries">
            {data.switches.map((one) => (
              <SwitchEntry one={one} layout={layout} data={data} zones={zones} />
            ))}
          </ul>
        </Section>
      )}
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
      {canAct(layout) ? (
        <Section id="organizations" heading="Pause, stop or hold">
          <p class="hint">
            A pause holds back scheduled runs. Under a stop, runs are created and nothing is sent. Under a legal hold,
            nothing is deleted.
          </p>
          <ul class="entries">
            {layout.principal.orgs === '*' ? (
              <li>
                <p>
                  <strong>Everything</strong>
                </p>
                <SwitchForms org={null} layout={layout} data={data} />
              </li>
            ) : null}
            {data.organizations.map(({ org, name, reports, pause }) => (
              <li>
                <p>
                  <strong>{name}</strong> {name === org ? null : <small>{org}</small>} ·{' '}
                  {reports === 1 ? '1 report' : `${reports} reports`}
                </p>
                {pause === null ? (
                  <ReasonForm
                    layout={layout}
                    action={`${pausePath(org, null)}/pause`}
                    from="/pauses"
                    label={`Pause ${org}`}
                    question="Why is it paused?"
                    refused={data.refused}
                  />
                ) : null}
                <SwitchForms org={org} layout={layout} data={data} />
              </li>
            ))}
          </ul>
        </Section>
      ) : null}
    </PageLayout>
  );
};
