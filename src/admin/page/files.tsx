import { ENDED, type RunRecord } from '../../run/record.ts';
import { Fault } from './fault.tsx';
import { bytes } from './figures.ts';
import { Empty } from './frame.tsx';
import type { Pack } from './loads.ts';

/** The e-mail, as a page of its own. */
export const previewPath = (run: string): string => `/api/runs/${run}/preview`;

/** Whether the pack has an e-mail to look at. */
export const hasMail = (pack: Pack | null): boolean =>
  pack !== null && 'kept' in pack && pack.kept.some(({ name }) => name === 'mail.html');

/** What a run has made, to download. */
export const Files = ({ record, pack }: { readonly record: RunRecord; readonly pack: Pack }) => {
  if ('away' in pack) return <Fault error={pack.away} heading="Its files cannot be looked at" />;
  const files = pack.kept.filter(({ kind }) => kind === 'file');
  if (files.length === 0) return <Empty>{whyNone(record)}</Empty>;
  return (
    <ul class="files">
      {files.map(({ name, bytes: size, sha256 }) => (
        <li>
          <a href={`/api/runs/${record.id}/files/${encodeURIComponent(name)}`} download={name}>
            {name}
          </a>
          <span class="soft">
            {size === null ? '' : bytes(size)}{' '}
            {sha256 === null ? null : <code title={`SHA-256 ${sha256}`}>{sha256.slice(0, 12)}</code>}
          </span>
        </li>
      ))}
      {hasMail(pack) ? (
        <li>
          <a href={previewPath(record.id)}>The e-mail as it was made</a>
          <span class="soft">a page of its own</span>
        </li>
      ) : null}
    </ul>
  );
};

function whyNone({ files, state, timings }: RunRecord): string {
  // What is delivered was archived before.
  if (files.length > 0 || timings.deliver !== undefined) return 'Its files have left the archive.';
  return ENDED.has(state)
    ? 'It ended before its files were made.'
    : 'There are no files yet. They are made when all figures are there.';
}
