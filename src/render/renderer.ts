import { setImmediate } from 'node:timers/promises';
import { DocketError } from '../base/error.ts';
import type { FiscalCalendar } from '../definitions/periods/fiscal-calendar.ts';
import type { Output } from '../definitions/schema/kinds.ts';
import type { Dataset } from '../fetch/dataset.ts';
import { type Artifact, type MailBodyName, mailAttachments, type NamedMailBody, type RunMail } from './artifact.ts';
import { renderEmail } from './email/render-email.ts';
import type { EmailOptions } from './email/template-data.ts';
import type { Format } from './formats/format.ts';
import { hashFigures } from './hash-figures.ts';
import { type RenderOptions, renderFiles } from './render-files.ts';

/** All that the files and the e-mail of a report are created from: plain data, which can be sent to another thread. */
export interface RenderRequest {
  readonly dataset: Dataset;
  readonly outputs: readonly Output[];
  readonly files: Omit<RenderOptions, 'signal' | 'run' | 'madeAt' | 'locale' | 'calendar'>;
  /**
   * `bodies`: the bodies to render, the main one first, each with the output formats that every e-mail with it
   * attaches.
   */
  readonly mail: Omit<
    EmailOptions,
    'run' | 'madeAt' | 'locale' | 'calendar' | 'body' | 'attached' | 'logo' | 'classification'
  > & {
    readonly bodies?: readonly { readonly body: MailBodyName; readonly attached: readonly string[] }[];
  };
  /** The run's id. */
  readonly run: string;
  /** Epoch ms: the creation time that all files and the e-mail show. */
  readonly madeAt: number;
  /** BCP 47. Default: `en-GB`. */
  readonly locale?: string | undefined;
  /** The organization's fiscal calendar, for sentences about changes. */
  readonly calendar?: FiscalCalendar | undefined;
  /** Whether to compute `Rendered.figures`. */
  readonly figures?: boolean;
}

export interface Rendered {
  readonly artifacts: readonly Artifact[];
  readonly mail: RunMail;
  /**
   * The hash of the figures (`hashFigures`). The render thread computes it, because it takes seconds for a long list.
   */
  readonly figures?: string;
}

/**
 * Creates the files of a report and the bodies of its e-mail. When `signal` is aborted, throws its reason and leaves no
 * file. Throws `template.invalid` or `render.failed`.
 */
export type Renderer = (request: RenderRequest, signal: AbortSignal) => Promise<Rendered>;

/** Creates a renderer that works in the calling thread. */
export const createRenderer =
  (formats: readonly Format[]): Renderer =>
  async ({ dataset, outputs, files, mail, figures: isHashed, ...shared }, signal) => {
    const artifacts = await renderFiles(dataset, outputs, formats, { ...files, ...shared, signal });
    const attachable = mailAttachments(
      artifacts,
      outputs.map(({ format }) => format),
    );
    const { logo, classification } = files;
    const { bodies = [{ body: 'full', attached: [] }], ...options } = mail;
    const rendered: NamedMailBody[] = [];
    for (const body of bodies) {
      const email = await renderEmail(dataset, attachable, { ...options, ...shared, ...body, logo, classification });
      rendered.push({ body: body.body, ...email });
    }
    const [first, ...others] = rendered;
    if (first === undefined) throw new DocketError('internal.defect', 'No e-mail body was requested.');
    const figures =
      isHashed === true ? await hashFigures(dataset, () => setImmediate(undefined, { signal })) : undefined;
    return {
      artifacts,
      mail: { ...first, ...(others.length === 0 ? {} : { others }) },
      ...(figures === undefined ? {} : { figures }),
    };
  };
