import type { Output } from '../define/definition.ts';
import type { Dataset } from '../fetch/dataset.ts';
import { type Artifact, type ArtifactFormat, type MailBody, mailFiles } from './artifact.ts';
import { type RenderOptions, renderFiles } from './files.ts';
import { type MailOptions, renderMail } from './mail.ts';

/** Everything that a report's files and its mail are made of: frozen data that can travel to another thread. */
export interface RenderRequest {
  readonly dataset: Dataset;
  readonly outputs: readonly Output[];
  readonly files: Omit<RenderOptions, 'signal' | 'run' | 'madeAt' | 'locale'>;
  readonly mail: Omit<MailOptions, 'run' | 'madeAt' | 'locale'>;
  /** The run's id. */
  readonly run: string;
  /** Epoch ms: the one instant that all files and the mail show as theirs. */
  readonly madeAt: number;
  /** BCP 47; `en-GB` when absent. */
  readonly locale?: string | undefined;
}

export interface Rendered {
  readonly artifacts: readonly Artifact[];
  readonly mail: MailBody;
}

/**
 * Makes the files of a report and its mail. Aborted by `signal` it throws the signal's reason and leaves no file behind.
 * Throws `template.invalid` or `render.failed`.
 */
export type Renderer = (request: RenderRequest, signal: AbortSignal) => Promise<Rendered>;

/** In the thread that calls it. */
export const renderHere: Renderer = async ({ dataset, outputs, files, mail, ...about }, signal) => {
  const artifacts = await renderFiles(dataset, outputs, { ...files, ...about, signal });
  const shown = mailFiles(artifacts, ['xlsx', 'csv']);
  return { artifacts, mail: await renderMail(dataset, shown, { ...mail, ...about, attached: attached(mail, shown) }) };
};

/** The formats of the files that come with those that are attached: what is in a zip is attached as the zip. */
const attached = ({ attached: formats = [] }: MailOptions | RenderRequest['mail'], shown: readonly Artifact[]) => [
  ...formats,
  ...mailFiles(shown, formats).map(({ format }): ArtifactFormat => format),
];
