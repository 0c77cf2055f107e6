import { inWords } from '../../define/period.ts';
import type { DeliveryRow } from '../../queue/decisions.ts';
import { ENDED, type Reopening, type RunRecord } from '../../run/record.ts';
import type { HeldPack, RunNews } from '../access.ts';
import { Decisions } from './decisions.tsx';
import { DeliveryTable } from './deliveries.tsx';
import { Fault } from './fault.tsx';
import { count, duration } from './figures.ts';
import { Files } from './files.tsx';
import { Empty, Fact, type Frame, Page } from './frame.tsx';
import type { Pack } from './loads.ts';
import type { Refused } from './reason-form.tsx';
import { Progress, ReportLink, took, triggered, zoneOf } from './run-parts.tsx';
import { Stages } from './stages.tsx';
import { RUN_LOOK, RunBadge } from './state.tsx';
import { At } from './time.tsx';

export interface RunData {
  readonly news: RunNews;
  readonly deliveries: readonly DeliveryRow[];
  readonly files: Pack;
  /** Of a run that is held. */
  readonly held: HeldPack | null;
  readonly refused?: Refused | undefined;
}

/** One run: what was asked for, how it goes on, what came of it, and what may be decided. */
export const Run = ({
  frame,
  data,
  notice,
}: {
  readonly frame: Frame;
  readonly data: RunData;
  readonly notice?: string | undefined;
}) => {
  const { record } = data.news;
  const zone = zoneOf(record);
  const open = !ENDED.has(record.state);
  return (
    <Page frame={frame} title={`Run ${record.id.slice(0, 8)}`} place="/runs" notice={notice}>
      <p class="crumbs">
        <ReportLink {...record} />
      </p>
      <div class="headline" id="headline" data-live>
        <h1>
          Run <span class="id">{record.id.slice(0, 8)}</span>
        </h1>
        <RunBadge state={record.state} /> <span class="soft">{meaning(record, data.files)}</span>
      </div>
      <p class="lead">{inWords(record.period)}</p>
      <div
        id="progress"
        data-live
        data-self={`/runs/${record.id}`}
        aria-live="polite"
        {...(open
          ? { 'data-events': `/api/runs/${record.id}/events`, 'data-renew': '3', 'data-state': record.state }
          : {})}
      >
        {open ? (
          <>
            <Progress news={data.news} now={frame.now} />
            <noscript>
              <p class="more">
                <a href={`/runs/${record.id}`}>Look again</a>
              </p>
            </noscript>
          </>
        ) : null}
      </div>
      <div id="error" data-live>
        {record.error === null ? null : <Fault error={record.error} heading="Why it ended so" />}
      </div>
      <Decisions
        frame={frame}
        record={record}
        deliveries={data.deliveries}
        files={data.files}
        held={data.held}
        refused={data.refused}
      />
      <div class="split">
        <div>
          <section aria-labelledby="files">
            <h2 id="files">Files</h2>
            <div id="files-list" data-live>
              <Files record={record} pack={data.files} />
            </div>
          </section>
          <section aria-labelledby="sent">
            <h2 id="sent">Deliveries</h2>
            <div id="deliveries" data-live>
              {data.deliveries.length === 0 ? (
                <Empty>
                  {record.deliver ? 'Nothing has been delivered yet.' : 'It was asked not to deliver anything.'}
                </Empty>
              ) : (
                <DeliveryTable rows={data.deliveries} zone={() => zone} of="run" />
              )}
            </div>
          </section>
          {record.reopened.length === 0 ? null : (
            <section aria-labelledby="history">
              <h2 id="history">What was decided</h2>
              <History reopened={record.reopened} zone={zone} />
            </section>
          )}
        </div>
        <div>
          <section aria-labelledby="stages">
            <h2 id="stages">Stages</h2>
            <div id="timings" data-live>
              <Stages news={data.news} />
            </div>
          </section>
          <section aria-labelledby="facts">
            <h2 id="facts">Record</h2>
            <div id="record" data-live>
              <Facts record={record} now={frame.now} zone={zone} />
            </div>
          </section>
        </div>
      </div>
    </Page>
  );
};

/** What the state means for this run. */
const meaning = ({ state }: RunRecord, files: Pack): string =>
  state === 'failed' && 'kept' in files && files.kept.length > 0
    ? 'Its files were made; not everybody has received them.'
    : RUN_LOOK[state].means;

const Facts = ({ record, now, zone }: { readonly record: RunRecord; readonly now: number; readonly zone: string }) => (
  <dl class="facts">
    <Fact name="Triggered">{triggered(record)}</Fact>
    {record.slot.startsWith('trigger:') ? null : (
      <Fact name="Slot">
        <At at={Date.parse(record.slot)} zone={zone} />
      </Fact>
    )}
    <Fact name="Created">
      <At at={record.createdAt} zone={zone} seconds />
    </Fact>
    {record.startedAt === null ? null : (
      <Fact name="Started">
        <At at={record.startedAt} zone={zone} seconds />
      </Fact>
    )}
    {record.finishedAt === null ? null : (
      <Fact name="Finished">
        <At at={record.finishedAt} zone={zone} seconds />
      </Fact>
    )}
    <Fact name="Took">{took(record, now)}</Fact>
    <Fact name="Calls planned">{count(record.calls.planned)}</Fact>
    <Fact name="Calls made">{count(record.calls.made)}</Fact>
    <Fact name="Calls saved">{count(record.calls.saved)}</Fact>
    <Fact name="Token wait">{duration(record.tokenWaitMs)}</Fact>
    <Fact name="Tries">
      {count(record.attempts)}
      {record.starts > record.attempts ? `, taken up ${count(record.starts)} times` : ''}
    </Fact>
    <Fact name="Delivers">{record.deliver ? 'yes' : 'no, files only'}</Fact>
    <Fact name="Definition">
      <code title={record.digest}>{record.digest.slice(0, 12)}</code>
    </Fact>
    <Fact name="Id">
      <code class="long">{record.id}</code>
    </Fact>
  </dl>
);

const DECIDED: Readonly<Record<Reopening['what'], string>> = {
  release: 'Released',
  retry: 'Tried again',
  resend: 'One delivery to be sent again',
  settle: 'Last delivery declared sent',
  cancel: 'Told to stop',
};

const History = ({ reopened, zone }: { readonly reopened: readonly Reopening[]; readonly zone: string }) => (
  <ol class="entries">
    {reopened.map(({ what, by, reason, at }) => (
      <li>
        <p>
          <strong>{DECIDED[what]}</strong> by {by}, <At at={at} zone={zone} />
        </p>
        <p class="quote">{reason}</p>
      </li>
    ))}
  </ol>
);
