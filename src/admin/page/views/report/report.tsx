import type { Period } from '../../../../definitions/periods/period.ts';
import type { RunRecord } from '../../../../run/run-record.ts';
import type { ReportDetail } from '../../../access/reports.ts';
import { FileList, hasEmail, previewPath, type RunFilesView } from '../../components/file-list.tsx';
import {
  canAct,
  EmptyState,
  Fact,
  type LayoutData,
  PageLayout,
  Section,
  type ViewProps,
} from '../../components/layout.tsx';
import { RunLink, RunTable, reportPath, runZone } from '../../components/run-table.tsx';
import { RelativeTime, Timestamp, When } from '../../components/time.tsx';
import { ReasonForm, type RejectedForm } from '../../forms/reason-form.tsx';
import { RunNowForm } from '../../forms/run-now-form.tsx';
import type { Loaded, loadReport } from '../../routes/loaders.ts';
import { PauseLine } from '../pauses.tsx';
import { OutlineFacts, ReportContents, ReportRecipients } from './report-outline.tsx';

/**
 * A report: its history, who gets what and when, its latest files and definition, and the forms to run and pause it.
 */
export const Report = ({ layout, data, notice }: ViewProps<Loaded<typeof loadReport>>) => {
  const { report, runs, lastRun, files, refused } = data;
  const path = reportPath(report.org, report.report);
  return (
    <PageLayout layout={layout} title={report.title} current="/reports" notice={notice}>
      <div class="headline">
        <h1>{report.title}</h1>
        <span class="muted">
          {report.org}/{report.report}
        </span>
        {report.pause === null ? null : <span class="state warn">Paused</span>}
      </div>
      <DefinitionErrors errors={report.faults} />
      {report.pause === null ? null : (
        <div class="attention">
          <PauseLine pause={report.pause} zone={report.timezone ?? 'UTC'} now={layout.now} />
        </div>
      )}
      {canAct(layout) ? (
        <div class="actions">
          <RunNowForm
            layout={layout}
            path={path}
            trigger={data.trigger}
            periods={data.periods}
            packs={report.outline?.split?.to.map(({ value }) => value) ?? []}
            refused={refused}
          />
          <PauseForm layout={layout} report={report} path={path} refused={refused} />
        </div>
      ) : null}
      <div class="split">
        <div>
          <Section id="history" heading="History">
            {runs.length === 0 ? (
              <EmptyState>
                No runs yet.{' '}
                {report.slots.length === 0 ? 'The report has no schedule: run it now.' : 'The first slot is below.'}
              </EmptyState>
            ) : (
              <>
                <RunTable runs={runs} now={layout.now} caption="Runs of this report, newest first" report={false} />
                <p class="more">
                  <a href={`/runs?org=${encodeURIComponent(report.org)}&report=${encodeURIComponent(report.report)}`}>
                    All runs of this report
                  </a>
                </p>
              </>
            )}
          </Section>
          {report.outline === null ? null : <ReportContents outline={report.outline} />}
          {layout.panels?.map((panel) => panel.report(report))}
        </div>
        <div>
          <ScheduleFacts report={report} period={data.periods[0]} labels={data.labels} now={layout.now} />
          {report.outline === null ? null : (
            <ReportRecipients outline={report.outline} labels={data.labels} isDenied={data.denied} />
          )}
        </div>
      </div>
      <LatestFiles lastRun={lastRun} files={files} now={layout.now} />
      <DefinitionText report={report} />
    </PageLayout>
  );
};

interface ScheduleProps {
  readonly report: ReportDetail;
  /** The period if the report ran now. Undefined if it is not known. */
  readonly period: Period | undefined;
  /** Labels of target kinds and formats. */
  readonly labels: ReadonlyMap<string, string>;
  /** Epoch ms. */
  readonly now: number;
}

/** `2026-11-20`, `2026-11-09 to 2026-11-15`. */
const daysText = ({ from, to }: Period): string => (from === to ? from : `${from} to ${to}`);

/** When the report runs, and which period it covers. */
const ScheduleFacts = ({ report, period, labels, now }: ScheduleProps) => (
  <Section id="facts" heading="Schedule">
    <dl class="facts">
      {report.schedules.length === 0 ? <Fact name="Runs">on demand only</Fact> : null}
      {report.outline?.schedules.map(({ words, line, timezone }) => (
        <Fact name="Runs">
          <span class="line">
            {words} <small>{timezone}</small>
          </span>{' '}
          <small>
            <code>{line}</code>
          </small>
        </Fact>
      ))}
      {report.slots.map(({ begins, timezone }, index) => (
        <Fact name={index === 0 ? 'Next' : 'Then'}>
          <Timestamp at={Date.parse(begins)} zone={timezone} weekday />{' '}
          <span class="muted">
            <RelativeTime at={Date.parse(begins)} now={now} />
          </span>
        </Fact>
      ))}
      {report.outline === null ? null : (
        <OutlineFacts outline={report.outline} labels={labels} current={period === undefined ? '' : daysText(period)} />
      )}
      <Fact name="Time zone">{report.timezone ?? 'unknown'}</Fact>
      <Fact name="Owner">{report.owner ?? 'unknown'}</Fact>
    </dl>
  </Section>
);

interface LatestFilesProps {
  readonly lastRun: RunRecord | null;
  readonly files: RunFilesView | null;
  /** Epoch ms. */
  readonly now: number;
}

const LatestFiles = ({ lastRun, files, now }: LatestFilesProps) => (
  <Section id="latest-files" heading="Latest files">
    {lastRun === null || files === null ? (
      <EmptyState>No files yet.</EmptyState>
    ) : (
      <>
        <p>
          {lastRun.period.label}, run <RunLink run={lastRun} />,{' '}
          <When at={lastRun.createdAt} zone={runZone(lastRun)} now={now} />
        </p>
        <FileList record={lastRun} view={files} />
        {hasEmail(files) ? (
          <iframe
            class="preview"
            src={previewPath(lastRun.id)}
            sandbox=""
            loading="lazy"
            title={`The e-mail of ${lastRun.period.label}`}
          ></iframe>
        ) : null}
      </>
    )}
  </Section>
);

/** The text of the definition, folded. */
const DefinitionText = ({ report }: { readonly report: ReportDetail }) => (
  <Section
    id="definition"
    heading={
      <>Definition {report.digest === null ? null : <code title={report.digest}>{report.digest.slice(0, 12)}</code>}</>
    }
  >
    {report.text === null ? (
      <EmptyState>
        The text is not available while the file has errors, or when only another process has loaded it.
      </EmptyState>
    ) : (
      <details class="fold">
        <summary>The YAML that is in use</summary>
        <YamlSource text={report.text} />
      </details>
    )}
  </Section>
);

const DefinitionErrors = ({ errors }: { readonly errors: readonly string[] }) =>
  errors.length === 0 ? null : (
    <div class="error">
      <strong>The definition has errors</strong>
      <p>
        The report keeps running with its last valid version, if there is one. Correct the file; it is read again within
        seconds.
      </p>
      <ul>
        {errors.map((error) => (
          <li>
            <code>{error}</code>
          </li>
        ))}
      </ul>
    </div>
  );

interface PauseFormProps {
  readonly layout: LayoutData;
  readonly report: ReportDetail;
  readonly path: string;
  readonly refused: RejectedForm | undefined;
}

const PauseForm = ({ layout, report: { pause }, path, refused }: PauseFormProps) => {
  const form = { layout, from: path, refused };
  if (pause === null) {
    return (
      <ReasonForm {...form} action={`${path}/pause`} label="Pause" question="Why is it paused?">
        <p>Scheduled runs wait until the report is resumed. Runs on demand still start.</p>
      </ReasonForm>
    );
  }
  return pause.report === null ? (
    <a class="button" href="/pauses">
      Resume {pause.org}…
    </a>
  ) : (
    <ReasonForm {...form} action={`${path}/resume`} label="Resume" question="Why is it resumed?" />
  );
};

/** YAML with highlighted keys and comments. */
const YamlSource = ({ text }: { readonly text: string }) => (
  <pre class="yaml">
    <code>{text.trimEnd().split('\n').map(highlightLine)}</code>
  </pre>
);

const KEY = /^(\s*(?:- )?)([\w.]+)(:.*)$/;
const COMMENT = /^(.*?)((?:^|\s)#.*)$/;

function highlightLine(line: string) {
  const [, before = line, comment = ''] = COMMENT.exec(line) ?? [];
  const [, indent = '', key = '', rest = before] = KEY.exec(before) ?? [];
  return (
    <>
      {indent}
      {key === '' ? null : <b>{key}</b>}
      {rest}
      {comment === '' ? null : <i>{comment}</i>}
      {'\n'}
    </>
  );
}
