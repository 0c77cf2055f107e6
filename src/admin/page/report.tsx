import type { Period } from '../../define/period.ts';
import type { RunRecord } from '../../run/record.ts';
import type { ReportDetail } from '../access.ts';
import { Files, hasMail, previewPath } from './files.tsx';
import { Empty, Fact, type Frame, mayAct, Page } from './frame.tsx';
import type { Pack } from './loads.ts';
import { PauseLine } from './pauses.tsx';
import { ReasonForm, type Refused } from './reason-form.tsx';
import { RunNowForm } from './run-now-form.tsx';
import { RunLink, RunTable, reportPath, zoneOf } from './run-parts.tsx';
import { At, Distance } from './time.tsx';
import { Yaml } from './yaml.tsx';

export interface ReportData {
  readonly report: ReportDetail;
  readonly runs: readonly RunRecord[];
  /** The newest run that has made its files; null while there is none. */
  readonly pack: RunRecord | null;
  /** Its files; null without one. */
  readonly files: Pack | null;
  /** Days of each period that the form offers. */
  readonly periods: readonly Period[];
  /** Names the next trigger of the form, so that sending it twice makes one run. */
  readonly trigger: string;
  readonly refused?: Refused | undefined;
}

/** A report: what it is, when it runs, what it made last, and running or pausing it. */
export const Report = ({
  frame,
  data,
  notice,
}: {
  readonly frame: Frame;
  readonly data: ReportData;
  readonly notice?: string | undefined;
}) => {
  const { report, runs, pack, files, refused } = data;
  const path = reportPath(report.org, report.report);
  return (
    <Page frame={frame} title={report.title} place="/reports" notice={notice}>
      <p class="crumbs">
        {report.org}/{report.report}
      </p>
      <div class="headline">
        <h1>{report.title}</h1>
        {report.pause === null ? null : <span class="state warn">Paused</span>}
      </div>
      <Faults faults={report.faults} />
      {report.pause === null ? null : (
        <div class="needs">
          <PauseLine pause={report.pause} zone={report.timezone ?? 'UTC'} now={frame.now} />
        </div>
      )}
      {mayAct(frame) ? (
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
              <Empty>
                It has not run yet.{' '}
                {report.slots.length === 0 ? 'It has no schedule: run it now.' : 'Its first slot is below.'}
              </Empty>
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
              <Empty>It has made no files yet.</Empty>
            ) : (
              <>
                <p>
                  {pack.period.label}, of run <RunLink run={pack} />, <At at={pack.createdAt} zone={zoneOf(pack)} />
                </p>
                <Files record={pack} pack={files} />
                {hasMail(files) ? (
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
                  <At at={Date.parse(begins)} zone={timezone} weekday />{' '}
                  <span class="soft">
                    <Distance at={Date.parse(begins)} now={frame.now} />
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
              <Empty>Its text is not shown while the file has a fault, or when another process alone knows it.</Empty>
            ) : (
              <Yaml text={report.text} />
            )}
          </section>
        </div>
      </div>
    </Page>
  );
};

const Faults = ({ faults }: { readonly faults: readonly string[] }) =>
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
  readonly frame: Frame;
  readonly report: ReportDetail;
  readonly path: string;
  readonly refused: Refused | undefined;
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
