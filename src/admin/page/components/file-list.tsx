import type { ErrorJson } from '../../../base/error.ts';
import { heldTarget } from '../../../definitions/split.ts';
import { type RunRecord, TERMINAL_STATES } from '../../../run/run-record.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import type { FileEntry } from '../../../services/runs/run-file-reader.ts';
import { ErrorDetails } from './error-details.tsx';
import { formatByteCount, formatCounted } from './format-numbers.ts';
import { EmptyState } from './layout.tsx';

/** The path of the e-mail as a page. @param body absent: the first body */
export const previewPath = (run: string, body?: string): string =>
  `/api/runs/${run}/preview${body === undefined ? '' : `?body=${encodeURIComponent(body)}`}`;

/** The bodies of the e-mail after the first one. */
const otherBodies = (files: readonly FileEntry[]): string[] =>
  files.flatMap(({ kind, name }) => (kind === 'mail' ? (/^mail-([a-z-]+)\.html$/.exec(name)?.[1] ?? []) : []));

/** The files of a run, or why they are unavailable. */
export type RunFilesView = { readonly files: readonly FileEntry[] } | { readonly error: ErrorJson };

export const hasEmail = (view: RunFilesView | null): boolean =>
  view !== null && 'files' in view && view.files.some(({ name }) => name === 'mail.html');

/** The files of each pack of a report with `split`, without the images of its e-mail. */
function packFolders(files: readonly FileEntry[]): ReadonlyMap<string, readonly FileEntry[]> {
  const folders = new Map<string, FileEntry[]>();
  for (const file of files) {
    const [folder = '', name] = file.name.split('/');
    if (name === undefined || file.kind === 'picture') continue;
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  return folders;
}

const isCsv = ({ type, name }: FileEntry): boolean => type.startsWith('text/csv') || name.endsWith('.csv');

/** If there are more CSV files, they are folded. */
const MAX_OPEN_CSV_FILES = 2;

/** If there are more packs, there is a field to find one. */
const MAX_OPEN_PACKS = 10;

interface FileListProps {
  readonly record: RunRecord;
  readonly view: RunFilesView;
  /** Deliveries of all packs: each line of the list says what was sent of its pack. */
  readonly deliveries?: readonly Pick<DeliveryRow, 'target' | 'state'>[];
  /** Only packs whose label contains this text. */
  readonly pack?: string | undefined;
}

/** The files of a run as downloads: CSV files folded, one line per pack, and all files as one zip. */
export const FileList = ({ record, view, deliveries = [], pack: sought = '' }: FileListProps) => {
  if ('error' in view) return <ErrorDetails error={view.error} heading="Files unavailable" />;
  const files = view.files.filter(({ kind }) => kind === 'file');
  if (files.length === 0) return <EmptyState>{emptyReason(record)}</EmptyState>;
  const packs = packFolders(view.files);
  const shown = [...packs]
    .map(([folder, own]) => ({ folder, own, label: own[0]?.pack ?? folder }))
    .filter(({ label }) => label.toLowerCase().includes(sought.toLowerCase()));
  const plain = files.filter(({ name }) => !name.includes('/'));
  const csv = plain.filter(isCsv);
  const folded = csv.length > MAX_OPEN_CSV_FILES ? csv : [];
  const bytes = (of: readonly FileEntry[]): string =>
    formatByteCount(of.reduce((sum, file) => sum + (file.bytes ?? 0), 0));
  return (
    <>
      <ul class="files">
        {plain
          .filter((file) => !folded.includes(file))
          .map((file) => (
            <FileItem run={record.id} file={file} />
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
      {folded.length === 0 ? null : (
        <details class="fold">
          <summary>
            {folded.length} CSV files, {bytes(folded)}
          </summary>
          <ul class="files">
            {folded.map((file) => (
              <FileItem run={record.id} file={file} />
            ))}
          </ul>
        </details>
      )}
      {packs.size <= MAX_OPEN_PACKS ? null : (
        <form method="get" class="filters">
          <label>
            Pack <input type="search" name="pack" value={sought} />
          </label>
          <button type="submit">Find</button>
        </form>
      )}
      {shown.length === 0 && packs.size > 0 ? <p class="muted">No pack has “{sought}” in its name.</p> : null}
      {shown.map(({ folder, label, own }) => (
        <details class="fold">
          <summary>
            {label}: {packState(record, deliveries, folder)} · {formatCounted(own.length, 'file')}, {bytes(own)}
          </summary>
          <ul class="files">
            {own.map((file) => (
              <FileItem run={record.id} file={file} />
            ))}
          </ul>
        </details>
      ))}
      {files.length === 1 ? null : (
        <p class="more">
          <a href={`/api/runs/${record.id}/files.zip`} download>
            All {files.length} files as one zip
          </a>{' '}
          <span class="muted">{bytes(files)} unpacked</span>
        </p>
      )}
    </>
  );
};

/** `2 sent, 1 refused`, or why nobody got the pack. */
function packState(record: RunRecord, deliveries: NonNullable<FileListProps['deliveries']>, slug: string): string {
  if (record.deliveries.some(({ target }) => target === heldTarget({ slug }))) return 'held';
  const states = deliveries.flatMap(({ target, state }) => (target.endsWith(`:${slug}`) ? [state] : []));
  const counts = [...new Set(states)].map((state) => `${states.filter((one) => one === state).length} ${state}`);
  return counts.length === 0 ? 'nothing sent' : counts.join(', ');
}

const FileItem = ({ run, file: { name, bytes, sha256 } }: { readonly run: string; readonly file: FileEntry }) => (
  <li>
    <a href={`/api/runs/${run}/files/${encodeURIComponent(name)}`} download={name}>
      {name}
    </a>
    <span class="muted">
      {bytes === null ? '' : formatByteCount(bytes)}{' '}
      {sha256 === null ? null : <code title={`SHA-256 ${sha256}`}>{sha256.slice(0, 12)}</code>}
    </span>
  </li>
);

/** The files with their sizes, beside a decision about them. CSV files share one line. */
export const FileNames = ({ run, view }: { readonly run: string; readonly view: RunFilesView }) => {
  if ('error' in view) return <ErrorDetails error={view.error} heading="Files unavailable" />;
  const files = view.files.filter(({ kind }) => kind === 'file');
  if (files.length === 0) return <p>Not in the archive.</p>;
  const packs = packFolders(view.files);
  if (packs.size > 0) {
    return (
      <p>
        {packs.size} {packs.size === 1 ? 'pack' : 'packs'}, {files.length} files
      </p>
    );
  }
  const csv = files.filter(isCsv);
  const folded = csv.length > MAX_OPEN_CSV_FILES ? csv : [];
  const size = folded.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);
  return (
    <ul class="plain-list compact">
      {files
        .filter((file) => !folded.includes(file))
        .map(({ name, bytes }) => (
          <li>
            <a class="wrap" href={`/api/runs/${run}/files/${encodeURIComponent(name)}`} download={name}>
              {name}
            </a>{' '}
            <span class="muted">{bytes === null ? '' : formatByteCount(bytes)}</span>
          </li>
        ))}
      {folded.length === 0 ? null : (
        <li>
          {folded.length} CSV files <span class="muted">{formatByteCount(size)}</span>
        </li>
      )}
      {hasEmail(view) ? (
        <li>
          <a href={previewPath(run)}>E-mail preview</a>
        </li>
      ) : null}
    </ul>
  );
};

function emptyReason({ files, state, timings, error, review }: RunRecord): string {
  // Files are archived before they are delivered, so this run had files.
  if (files.length > 0 || timings.deliver !== undefined) return 'The files are no longer in the archive.';
  const inReview = state === 'held' && (review !== undefined || error?.code === 'run.comments_missing');
  if (inReview || state === 'awaiting_approval')
    return 'They are archived when the review is complete. Until then, the review above has them.';
  return TERMINAL_STATES.has(state)
    ? 'The run ended before its files were created.'
    : 'No files yet. They are created when all figures are fetched.';
}
