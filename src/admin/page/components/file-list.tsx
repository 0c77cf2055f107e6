import type { ErrorJson } from '../../../base/error.ts';
import { type RunRecord, TERMINAL_STATES } from '../../../run/run-record.ts';
import type { FileEntry } from '../../../services/runs/run-file-reader.ts';
import { ErrorDetails } from './error-details.tsx';
import { formatByteCount } from './format-numbers.ts';
import { EmptyState } from './layout.tsx';

/** The e-mail as a page. @param body the first one when absent */
export const previewPath = (run: string, body?: string): string =>
  `/api/runs/${run}/preview${body === undefined ? '' : `?body=${encodeURIComponent(body)}`}`;

/** The bodies of the e-mail besides the first one. */
const otherBodies = (files: readonly FileEntry[]): string[] =>
  files.flatMap(({ kind, name }) => (kind === 'mail' ? (/^mail-([a-z-]+)\.html$/.exec(name)?.[1] ?? []) : []));

/** The files of a run, or why they are unavailable. */
export type RunFilesView = { readonly files: readonly FileEntry[] } | { readonly error: ErrorJson };

export const hasEmail = (view: RunFilesView | null): boolean =>
  view !== null && 'files' in view && view.files.some(({ name }) => name === 'mail.html');

/** The files of a run as downloads. */
export const FileList = ({ record, view }: { readonly record: RunRecord; readonly view: RunFilesView }) => {
  if ('error' in view) return <ErrorDetails error={view.error} heading="Files unavailable" />;
  const files = view.files.filter(({ kind }) => kind === 'file');
  if (files.length === 0) return <EmptyState>{emptyReason(record)}</EmptyState>;
  return (
    <ul class="files">
      {files.map(({ name, bytes: size, sha256 }) => (
        <li>
          <a href={`/api/runs/${record.id}/files/${encodeURIComponent(name)}`} download={name}>
            {name}
          </a>
          <span class="muted">
            {size === null ? '' : formatByteCount(size)}{' '}
            {sha256 === null ? null : <code title={`SHA-256 ${sha256}`}>{sha256.slice(0, 12)}</code>}
          </span>
        </li>
      ))}
      {hasEmail(view) ? (
        <li>
          <a href={previewPath(record.id)}>E-mail preview</a>
        </li>
      ) : null}
      {otherBodies(view.files).map((body) => (
        <li>
          <a href={previewPath(record.id, body)}>E-mail preview ({body.replace('-', ' with ')})</a>
        </li>
      ))}
    </ul>
  );
};

function emptyReason({ files, state, timings }: RunRecord): string {
  // Files are archived before they are delivered.
  if (files.length > 0 || timings.deliver !== undefined) return 'The files are no longer in the archive.';
  return TERMINAL_STATES.has(state)
    ? 'The run ended before its files were created.'
    : 'No files yet. They are created when all figures are fetched.';
}
