import { type RunRecord, TERMINAL_STATES } from '../../../run/run-record.ts';
import type { RunFilesView } from '../routes/loaders.ts';
import { ErrorDetails } from './error-details.tsx';
import { formatByteCount } from './format-numbers.ts';
import { EmptyState } from './layout.tsx';

/** The e-mail, as a page of its own. */
export const previewPath = (run: string): string => `/api/runs/${run}/preview`;

/** Whether the pack has an e-mail to look at. */
export const hasEmail = (pack: RunFilesView | null): boolean =>
  pack !== null && 'kept' in pack && pack.kept.some(({ name }) => name === 'mail.html');

/** What a run has made, to download. */
export const FileList = ({ record, pack }: { readonly record: RunRecord; readonly pack: RunFilesView }) => {
  if ('away' in pack) return <ErrorDetails error={pack.away} heading="Its files cannot be looked at" />;
  const files = pack.kept.filter(({ kind }) => kind === 'file');
  if (files.length === 0) return <EmptyState>{emptyReason(record)}</EmptyState>;
  return (
    <ul class="files">
      {files.map(({ name, bytes: size, sha256 }) => (
        <li>
          <a href={`/api/runs/${record.id}/files/${encodeURIComponent(name)}`} download={name}>
            {name}
          </a>
          <span class="soft">
            {size === null ? '' : formatByteCount(size)}{' '}
            {sha256 === null ? null : <code title={`SHA-256 ${sha256}`}>{sha256.slice(0, 12)}</code>}
          </span>
        </li>
      ))}
      {hasEmail(pack) ? (
        <li>
          <a href={previewPath(record.id)}>The e-mail as it was made</a>
          <span class="soft">a page of its own</span>
        </li>
      ) : null}
    </ul>
  );
};

function emptyReason({ files, state, timings }: RunRecord): string {
  // What is delivered was archived before.
  if (files.length > 0 || timings.deliver !== undefined) return 'Its files have left the archive.';
  return TERMINAL_STATES.has(state)
    ? 'It ended before its files were made.'
    : 'There are no files yet. They are made when all figures are there.';
}
