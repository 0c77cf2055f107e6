import type { Period } from '../../../definitions/periods/period.ts';
import type { RunRecord } from '../../../run/run-record.ts';
import type { ReportDetail } from '../../access/access.ts';
import { FileList, hasEmail, previewPath } from '../components/file-list.tsx';
import { canAct, EmptyState, Fact, type LayoutData, PageLayout } from '../components/layout.tsx';
import { RunLink, RunTable, reportPath, runZone } from '../components/run-table.tsx';
import { RelativeTime, Timestamp } from '../components/time.tsx';
import { ReasonForm, type RejectedForm } from '../forms/reason-form.tsx';
import { RunNowForm } from '../forms/run-now-form.tsx';
import type { RunFilesView } from '../routes/loaders.ts';
import { PauseLine } from './pauses.tsx';

export interface ReportData {
  readonly report: ReportDetail;
  readonly runs: readonly RunRecord[];
  /** The newest run that has made its files; null while there is none. */
  readonly pack: RunRecord | null;
  /** Its files; null without one. */
  readonly files: RunFilesView | null;
  /** Days of each period that the form offers. */
  readonly periods: readonly Period[];
  /** Names the next trigger of the form, so that sending it twice makes one run. */
  readonly trigger: string;
  readonly refused?: RejectedForm | undefined;
}

/** A report: what it is, when it runs, what it made last, and running or pausing it. */
export const Report = ({
  frame,
  data,
  notice,
}: {
  readonly frame: LayoutData;
  readonly data: ReportData;
  readonly notice?: string | undefined;
}) => {
  const { report, runs, pack, files, refused } = data;
  const path = reportPath(report.org, report.report);
  return (
    <PageLayout frame={frame} title={report.title} place="/reports" notice={notice}>
      <p class="crumbs">
        {report.org}/{report.report}
      </p>
      <div class="headline">
        <h1>{report.title}</h1>
        {report.pause === null ? null : <span class="state warn">Paused</span>}
      </div>
      <DefinitionErrors faults={report.faults} />
      {report.pause === null ? null : (
        <div class="needs">
          <PauseLine pause={report.pause} zone={report.timezone ?? 'UTC'} now={frame.now} />
        </div>
      )}
      {canAct(frame) ? (
        <div class="acts">
          <RunNowForm frame={frame} path={path} trigger={data.trigger} periods={data.periods} refused={refused} />
          <PauseForm frame={frame} report={report} path={path} refused={refused} />
        </div>
      ) : null}
      <div class="split">
        <div>
          <section aria-labelledby="history">
            <h2 id="history">History</h2>
            {runs.length === 0 ? (
              <EmptyState>
                It has not run yet.{' '}
                {report.slots.length === 0 ? 'It has no schedule: run it now.' : 'Its first slot is below.'}
              </EmptyState>
            ) : (
              <RunTable runs={runs} now={frame.now} caption="Runs of this report, the newest first" report={false} />
            )}
            {runs.length === 0 ? null : (
              <p class="more">
                <a href={`/runs?org=${encodeURIComponent(report.org)}&report=${encodeURIComponent(report.report)}`}>
                  All its runs
                </a>
              </p>
            )}
          </section>
          <section aria-labelledby="pack">
            <h2 id="pack">Last pack</h2>
            {pack === null || files === null ? (
              <EmptyState>It has made no files yet.</EmptyState>
            ) : (
              <>
                <p>
                  {pack.period.label}, of run <RunLink run={pack} />,{' '}
                  <Timestamp at={pack.createdAt} zone={runZone(pack)} />
                </p>
                <FileList record={pack} pack={files} />
                {hasEmail(files) ? (
                  <iframe
                    class="preview"
                    src={previewPath(pack.id)}
                    sandbox=""
                    loading="lazy"
                    title={`The e-mail of ${pack.period.label}`}
                  ></iframe>
                ) : null}
              </>
            )}
          </section>
        </div>
        <div>
          <section aria-labelledby="facts">
            <h2 id="facts">Schedule</h2>
            <dl class="facts">
              {report.schedules.length === 0 ? <Fact name="Schedule">on demand only</Fact> : null}
              {report.schedules.map((line) => (
                <Fact name="Schedule">
                  <code>{line}</code>
                </Fact>
              ))}
              {report.slots.map(({ begins, timezone }, index) => (
                <Fact name={index === 0 ? 'Next' : 'Then'}>
                  <Timestamp at={Date.parse(begins)} zone={timezone} weekday />{' '}
                  <span class="soft">
                    <RelativeTime at={Date.parse(begins)} now={frame.now} />
                  </span>
                </Fact>
              ))}
              <Fact name="Zone">{report.timezone ?? 'not known'}</Fact>
              <Fact name="Owner">{report.owner ?? 'not known'}</Fact>
            </dl>
          </section>
          <section aria-labelledby="definition">
            <h2 id="definition">
              Definition{' '}
              {report.digest === null ? null : <code title={report.digest}>{report.digest.slice(0, 12)}</code>}
            </h2>
            {report.text === null ? (
              <EmptyState>
                Its text is not shown while the file has a fault, or when another process alone knows it.
              </EmptyState>
            ) : (
              <YamlSource text={report.text} />
            )}
          </section>
        </div>
      </div>
    </PageLayout>
  );
};

const DefinitionErrors = ({ faults }: { readonly faults: readonly string[] }) =>
  faults.length === 0 ? null : (
    <div class="fault">
      <strong>The definition's file has faults</strong>
      <p>
        The report goes on as its last good version says, where there is one. Correct the file; it is read again within
        seconds.
      </p>
      <ul>
        {faults.map((fault) => (
          <li>
            <code>{fault}</code>
          </li>
        ))}
      </ul>
    </div>
  );

interface PauseFormProps {
  readonly frame: LayoutData;
  readonly report: ReportDetail;
  readonly path: string;
  readonly refused: RejectedForm | undefined;
}

const PauseForm = ({ frame, report: { pause }, path, refused }: PauseFormProps) => {
  const shown = { frame, from: path, refused };
  if (pause === null) {
    return (
      <ReasonForm {...shown} action={`${path}/pause`} label="Pause" ask="Why does it wait?">
        <p>Its scheduled runs wait until it is resumed. Runs on demand still run.</p>
      </ReasonForm>
    );
  }
  return pause.report === null ? (
    <a class="button" href="/pauses">
      Resume {pause.org}…
    </a>
  ) : (
    <ReasonForm {...shown} action={`${path}/resume`} label="Resume" ask="Why may it go on?" />
  );
};

/** YAML to read: keys and comments are told apart, nothing is changed. */
export const YamlSource = ({ text }: { readonly text: string }) => (
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
