import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { toDocketError } from '../../../base/error.ts';
import { type Diagnostic, fileDiagnostic } from '../../../definitions/diagnostics/diagnostic.ts';
import { compilePack } from './compile-pack.ts';
import { samplePackData } from './data/sample-data.ts';
import { PACK_FOLDER, readPackTemplates } from './pack-templates.ts';
import { EXPECTED_TEMPLATE, limitIssue, type TemplateIssue, typstIssue } from './template-errors.ts';
import { TypstLimitError, type TypstLimits } from './typst/typst-compiler.ts';

/** The creation time of documents that are made from sample data. */
const SAMPLE_INSTANT = Date.parse('2026-11-16T07:00:00Z');

const toDiagnostic = ({ file, line, column, message, next }: TemplateIssue): Diagnostic => ({
  file,
  line,
  column,
  expected: EXPECTED_TEMPLATE,
  got: message,
  next,
});

/**
 * Checks the organization's PDF templates with sample data. Empty if its folder has none.
 * @param folder the value of `DOCKET_TEMPLATES`
 */
export async function checkPackTemplates(
  folder: string,
  signal: AbortSignal = new AbortController().signal,
  limits?: TypstLimits,
): Promise<Diagnostic[]> {
  if (!existsSync(join(folder, PACK_FOLDER))) return [];
  try {
    const templates = await readPackTemplates(folder);
    if (!templates.custom) return [];
    const result = await compilePack({
      data: samplePackData(),
      templates,
      madeAt: SAMPLE_INSTANT,
      signal,
      limits,
    }).catch((thrown: unknown) => {
      if (thrown instanceof TypstLimitError) return limitIssue(thrown.limit, templates);
      throw thrown;
    });
    if ('file' in result) return [toDiagnostic(result)];
    return result.kind === 'done' ? [] : result.diagnostics.map((each) => toDiagnostic(typstIssue(each, templates)));
  } catch (thrown) {
    const { message, where = join(folder, PACK_FOLDER), next = 'correct the folder' } = toDocketError(thrown);
    return [fileDiagnostic(where, EXPECTED_TEMPLATE, message, next)];
  }
}
