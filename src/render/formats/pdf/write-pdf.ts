import { writeFile } from 'node:fs/promises';
import type { Dataset } from '../../../fetch/dataset.ts';
import { buildPack } from '../../pack/build-pack.ts';
import { type FormatContext, readCurrentLogo } from '../format.ts';
import { compilePack } from './compile-pack.ts';
import { packData } from './data/pack-data.ts';
import { readPackTemplates } from './pack-templates.ts';
import { packCoverage, withPdfNames } from './pdf-names.ts';
import { rethrowLimit, throwIssue, typstIssue } from './template-errors.ts';
import type { TypstLimits } from './typst/typst-compiler.ts';
import type { TypstUsage } from './typst/typst-job.ts';

export type PdfOptions = Pick<
  FormatContext,
  'run' | 'digest' | 'madeAt' | 'locale' | 'logo' | 'classification' | 'calendar' | 'templates' | 'outputs' | 'signal'
> & {
  /** Only tests set it. */
  readonly limits?: TypstLimits;
};

/**
 * Writes the pack as PDF/UA-1 to a new file, and returns what its process used. The same dataset, run and instant give
 * the same bytes. Throws `template.invalid` for an error in the organization's templates, `render.failed`, or the
 * signal's reason.
 */
export async function writePdf(path: string, dataset: Dataset, options: PdfOptions): Promise<TypstUsage> {
  const { locale, classification, calendar, run, digest, madeAt, outputs = [], signal, limits } = options;
  const [templates, logo] = await Promise.all([readPackTemplates(options.templates), readCurrentLogo(options.logo)]);
  const shown = withPdfNames(dataset, await packCoverage(templates));
  const pack = buildPack(shown, { locale, classification, calendar });
  const data = packData(pack, dataset, {
    run,
    digest,
    madeAt,
    formats: outputs,
    logo: logo.image === undefined ? undefined : `logo.${logo.image.format === 'png' ? 'png' : 'jpg'}`,
    logoLeftOut: logo.leftOut,
  });
  const result = await compilePack({ data, logo: logo.image?.bytes, templates, madeAt, signal, limits }).catch(
    (thrown: unknown) => rethrowLimit(thrown, templates, data),
  );
  if (result.kind === 'failed') {
    const [first = { message: 'no reason is given', path: null, line: 1, column: 1, hints: [] }] = result.diagnostics;
    throwIssue(typstIssue(first, templates), templates);
  }
  await writeFile(path, result.pdf, { flag: 'wx' });
  return result.usage;
}
