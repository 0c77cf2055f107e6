import type { Child } from 'hono/jsx';
import type { HeldRun, RunTimeline } from '../../access/runs.ts';
import { EarlierDeliveryNote } from '../components/deliveries/earlier-delivery.tsx';
import { ErrorDetails } from '../components/error-details.tsx';
import { FileNames, type RunFilesView } from '../components/file-list.tsx';
import { formatCounted } from '../components/format-numbers.ts';

interface ReleaseReviewProps {
  readonly run: string;
  readonly zone: string;
  readonly held: HeldRun;
  readonly files: RunFilesView;
  readonly earlier: RunTimeline['earlier'];
  /** False: the run was triggered without deliveries, so it cannot be released. */
  readonly delivers: boolean;
  /** The form that releases the run, for operators. */
  readonly children?: Child;
}

/** What to check before a held run is released, and the form for it. */
export const ReleaseReview = ({ run, zone, held, files, earlier, delivers, children }: ReleaseReviewProps) => (
  <section class="review" id="release" aria-labelledby="release-heading">
    <h2 id="release-heading">{delivers ? 'Release it, or leave it held' : 'Held: figures are missing'}</h2>
    <p class="lead">
      {delivers
        ? 'Figures are missing, so nothing was sent. It stays held, and nothing is sent, until somebody releases it. For complete figures, run the report again once the cause is fixed.'
        : 'Figures are missing. The run was triggered without deliveries, so there is nothing to release: its files stay in the archive.'}
    </p>
    {held.error === null ? null : <ErrorDetails error={held.error} heading="Files unavailable" />}
    <div class="two-columns">
      <div>
        <h3>Missing figures</h3>
        <MissingFigures missing={held.missing} />
        <h3>Files</h3>
        {held.error === null ? <FileNames run={run} view={files} /> : <p>Unknown.</p>}
        <h3>Delivered before for this period</h3>
        <EarlierDeliveryNote earlier={earlier} zone={zone} />
      </div>
      <div>
        <h3>Would receive it</h3>
        <Recipients recipients={held.recipients} />
      </div>
    </div>
    {children}
  </section>
);

/** What is missing in the files, by section. */
export const MissingFigures = ({ missing }: Pick<HeldRun, 'missing'>) => {
  if (missing === null) return <p>Unknown: the archive has no record.</p>;
  const sections = [...new Set(missing.map(({ section }) => section))];
  return (
    <ul class="plain-list">
      {sections.map((id) => {
        const notes = missing.filter(({ section }) => section === id);
        return (
          <li>
            <strong>{notes[0]?.title ?? id}</strong>
            {notes.map(({ text }) => (
              <p>{text}</p>
            ))}
          </li>
        );
      })}
    </ul>
  );
};

/** Who would receive the files, and who would not and why. */
export const Recipients = ({ recipients }: Pick<HeldRun, 'recipients'>) => {
  if (recipients === null) {
    return <p id="recipients-unknown">Unknown: its definition or its archive is not available.</p>;
  }
  const receiving = recipients.filter(({ receives }) => receives);
  const others = recipients.filter(({ receives }) => !receives);
  return (
    <>
      {receiving.length === 0 ? (
        <p>None: the definition has no recipient that is allowed.</p>
      ) : (
        <RecipientList recipients={receiving} />
      )}
      {others.length === 0 ? null : (
        <div id="recipients-excluded">
          <h3>Would not receive it: {formatCounted(others.length, 'recipient', 'recipients')}</h3>
          <RecipientList recipients={others} />
        </div>
      )}
    </>
  );
};

const RecipientList = ({ recipients }: { readonly recipients: NonNullable<HeldRun['recipients']> }) => (
  <ul class="plain-list compact">
    {recipients.map(({ recipient, target, receives, why }) => (
      <li>
        <span class="wrap">{recipient}</span> <span class="muted target">{target}</span>
        {receives ? null : <p>{why}</p>}
      </li>
    ))}
  </ul>
);
