import type { Child } from 'hono/jsx';
import type { FileEntry } from '../../../services/runs/run-file-reader.ts';
import type { HeldRun } from '../../access/access.ts';
import { ErrorDetails } from '../components/error-details.tsx';
import type { RunFilesView } from '../components/file-list.tsx';
import { formatByteCount, formatCounted } from '../components/format-numbers.ts';

interface ReleaseReviewProps {
  readonly held: HeldRun;
  readonly files: RunFilesView;
  /** The form that releases it, for operators. */
  readonly children?: Child;
}

/** What to check before a held run is released, and the form for it. */
export const ReleaseReview = ({ held, files: view, children }: ReleaseReviewProps) => {
  const files = 'files' in view ? view.files.filter(({ kind }) => kind === 'file') : [];
  return (
    <section class="release" id="release" aria-labelledby="release-heading">
      <h2 id="release-heading">Check before release</h2>
      {held.error === null ? null : <ErrorDetails error={held.error} heading="Files unavailable" />}
      <div class="two-columns">
        <div>
          <h3>Missing figures</h3>
          <MissingFigures missing={held.missing} />
          <h3>Files</h3>
          <FileNames files={files} />
        </div>
        <div>
          <h3>Recipients</h3>
          <Recipients recipients={held.recipients} />
        </div>
      </div>
      {children}
    </section>
  );
};

const FileNames = ({ files }: { readonly files: readonly FileEntry[] }) =>
  files.length === 0 ? (
    <p>Not in the archive.</p>
  ) : (
    <ul class="plain-list compact">
      {files.map(({ name, bytes: size }) => (
        <li>
          <span class="wrap">{name}</span> <span class="muted">{size === null ? '' : formatByteCount(size)}</span>
        </li>
      ))}
    </ul>
  );

const MissingFigures = ({ missing }: Pick<HeldRun, 'missing'>) => {
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

const Recipients = ({ recipients }: Pick<HeldRun, 'recipients'>) => {
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
          <h3>{formatCounted(others.length, 'recipient', 'recipients')} excluded</h3>
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
