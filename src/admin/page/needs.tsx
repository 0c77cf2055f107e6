import type { DeliveryRow } from '../../queue/decisions.ts';
import type { Pause } from '../../queue/pauses.ts';
import type { RunPage } from '../../run/page.ts';
import { count } from './figures.ts';
import { ReportLink, RunLink } from './run-parts.tsx';

export interface NeedsData {
  /** Deliveries that may have arrived. */
  readonly undecided: readonly DeliveryRow[];
  /** Runs whose pack waits to be released, however old they are. */
  readonly held: RunPage;
  /** Runs of the last day that failed or did not reach everybody. */
  readonly failed: RunPage;
  readonly pauses: readonly Pause[];
}

/** Runs that are named; the lists have all of them. */
const NAMED = 3;

/** What waits for a person, or that nothing does: the first thing on the overview. */
export const Needs = ({ data: { undecided, held, failed, pauses } }: { readonly data: NeedsData }) => {
  // Nobody decided these: they last until the organization has another key.
  const refused = pauses.filter(({ key }) => key !== null);
  if ([undecided, held.runs, failed.runs, refused].every(({ length }) => length === 0)) {
    return (
      <p class="calm">
        <span class="state good">Nothing waits for anybody</span>{' '}
        <span class="soft">
          No delivery to decide, no pack to release, no refused key, and no run has failed in the last 24 hours.
        </span>
      </p>
    );
  }
  return (
    <div class="needs">
      {undecided.length === 0 ? null : (
        <p>
          <strong>{many(undecided.length, false, 'delivery', 'deliveries')}</strong> may have arrived, and may not have:
          nothing is sent again until somebody decides. <a href="/deliveries">Decide</a>
        </p>
      )}
      {held.runs.length === 0 ? null : (
        <p>
          <strong>{many(held.runs.length, held.next !== null, 'pack', 'packs')}</strong> waiting to be released: figures
          are missing. <Named page={held} /> <a href="/runs?state=held">Look at all that are held</a>
        </p>
      )}
      {failed.runs.length === 0 ? null : (
        <p>
          <strong>{many(failed.runs.length, failed.next !== null, 'run', 'runs')}</strong> of the last 24 hours failed
          or did not reach everybody. <Named page={failed} /> All: <a href="/runs?state=failed">failed</a>,{' '}
          <a href="/runs?state=partly_delivered">partly delivered</a>
        </p>
      )}
      {refused.map(({ org, report, key }) => (
        <p>
          <strong>{report === null ? `All of ${org}` : <ReportLink org={org} report={report} />}</strong> waits, because
          its key <code>{key}</code> was refused. Give it another one, then <a href="/pauses">resume it</a>.
        </p>
      ))}
    </div>
  );
};

/** `1 pack`, `20+ packs`. */
const many = (length: number, more: boolean, one: string, several: string): string =>
  `${count(length)}${more ? '+' : ''} ${length === 1 && !more ? one : several}`;

const Named = ({ page: { runs, next } }: { readonly page: RunPage }) => (
  <>
    {runs.slice(0, NAMED).map((run, index) => (
      <>
        {index === 0 ? '' : ', '}
        <ReportLink {...run} /> <RunLink run={run} />
      </>
    ))}
    {runs.length > NAMED || next !== null ? ', …' : '.'}
  </>
);
