import { SECOND_MS } from '../../../base/time.ts';
import { messagesFor } from '../../../i18n/messages.ts';
import { displayable } from '../../charts/font-coverage.ts';
import type { PackData } from './data/pack-data.ts';
import { MAIN_TEMPLATE, type PackTemplates } from './pack-templates.ts';
import { packCoverage } from './pdf-names.ts';
import { fontFiles } from './typst/font-files.ts';
import { compileTypst, type TypstLimits } from './typst/typst-compiler.ts';
import type { TypstResult } from './typst/typst-job.ts';

export interface PackJob {
  readonly data: PackData;
  /** The content of the file that `data.logo` names. */
  readonly logo?: Uint8Array | undefined;
  readonly templates: PackTemplates;
  /** Epoch ms. */
  readonly madeAt: number;
  readonly signal: AbortSignal;
  readonly limits?: TypstLimits | undefined;
}

/** Compiles the templates with the data of a pack. Throws like `compileTypst`. */
export async function compilePack({ data, logo, templates, madeAt, signal, limits }: PackJob): Promise<TypstResult> {
  const covers = await packCoverage(templates);
  let replaced = false;
  const shown = displayable({ ...data, approval: '' }, covers, () => {
    replaced = true;
  });
  // An approval must change nothing but its own line.
  const approval = displayable(data.approval, covers);
  const made = replaced
    ? {
        ...shown,
        approval,
        made: [...shown.made, { label: '□', text: messagesFor(data.locale).pdf.unknownCharacters }],
      }
    : { ...shown, approval };
  return compileTypst(
    {
      main: MAIN_TEMPLATE,
      files: [
        ...templates.files.map(({ path, bytes }) => ({ path, bytes })),
        { path: 'pack.json', bytes: Buffer.from(JSON.stringify(made)) },
        ...(logo === undefined || data.logo === null ? [] : [{ path: data.logo, bytes: logo }]),
      ],
      fontFiles: fontFiles(),
      fonts: templates.fonts,
      madeAt: Math.floor(madeAt / SECOND_MS),
    },
    signal,
    limits,
  );
}
