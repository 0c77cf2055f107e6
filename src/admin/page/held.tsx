import type { Child } from 'hono/jsx';
import type { FileEntry, HeldPack } from '../access.ts';
import { Fault } from './fault.tsx';
import { bytes, counted } from './figures.ts';
import type { Pack } from './loads.ts';

interface HeldProps {
  readonly held: HeldPack;
  readonly files: Pack;
  /** The form that releases it, for whoever may. */
  readonly children?: Child;
}

/** What somebody wants to know before a held run is released, and the form for it. */
export const Held = ({ held, files, children }: HeldProps) => {
  const own = 'kept' in files ? files.kept.filter(({ kind }) => kind === 'file') : [];
  return (
    <section class="held" id="held" aria-labelledby="held-heading">
      <h2 id="held-heading">Before it is released</h2>
      {held.error === null ? null : <Fault error={held.error} heading="Its files cannot be looked at" />}
      <div class="pair">
        <div>
          <h3>What is missing</h3>
          <Missing missing={held.missing} />
          <h3>Its files</h3>
          <FileNames files={own} />
        </div>
        <div>
          <h3>Who would receive it</h3>
          <Recipients recipients={held.recipients} />
        </div>
      </div>
      {children}
    </section>
  );
};

const FileNames = ({ files }: { readonly files: readonly FileEntry[] }) =>
  files.length === 0 ? (
    <p>They are not in the archive.</p>
  ) : (
    <ul class="plainlist close">
      {files.map(({ name, bytes: size }) => (
        <li>
          <span class="wrap">{name}</span> <span class="soft">{size === null ? '' : bytes(size)}</span>
        </li>
      ))}
    </ul>
  );

const Missing = ({ missing }: Pick<HeldPack, 'missing'>) => {
  if (missing === null) return <p>The archive does not say.</p>;
  const sections = [...new Set(missing.map(({ section }) => section))];
  return (
    <ul class="plainlist">
      {sections.map((id) => {
        const own = missing.filter(({ section }) => section === id);
        return (
          <li>
            <strong>{own[0]?.title ?? id}</strong>
            {own.map(({ text }) => (
              <p>{text}</p>
            ))}
          </li>
        );
      })}
    </ul>
  );
};

const Recipients = ({ recipients }: Pick<HeldPack, 'recipients'>) => {
  if (recipients === null) {
    return <p id="receive-untold">That is not known: its definition or its archive is not at hand.</p>;
  }
  const receiving = recipients.filter(({ receives }) => receives);
  const others = recipients.filter(({ receives }) => !receives);
  return (
    <>
      {receiving.length === 0 ? (
        <p>Nobody: its definition names no recipient that may receive it.</p>
      ) : (
        <ul class="plainlist close">
          {receiving.map(({ recipient, target }) => (
            <li>
              <span class="wrap">{recipient}</span> <span class="soft target">{target}</span>
            </li>
          ))}
        </ul>
      )}
      {others.length === 0 ? null : (
        <div id="receive-not">
          <h3>{counted(others.length, 'recipient', 'recipients')} would receive nothing</h3>
          <ul class="plainlist close">
            {others.map(({ recipient, target, why }) => (
              <li>
                <span class="wrap">{recipient}</span> <span class="soft target">{target}</span>
                <p>{why}</p>
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
};
