import type { TemplateProblem } from '../../template-problem.ts';
import { clipText } from '../invalid-template.ts';
import type { TemplatePackage } from '../template-package.ts';

// Older versions of Excel write VML that is not well-formed, with `<br>` in texts; it cannot be read as XML.
const PICTURE = /<(?:\w+:)?(?:imagedata|fill)\s[^<>]*/gi;
const ADDRESS = /\s(?:src|o:href|o:althref)\s*=\s*(?:"([^"]+)"|'([^']+)')/gi;

/** Pictures of a VML drawing (comments, form controls, headers and footers) that name an address instead of a part. */
export async function findRemotePictures(
  pack: TemplatePackage,
  part: string,
  sheet: string | undefined,
): Promise<readonly TemplateProblem[]> {
  const problems: TemplateProblem[] = [];
  for (const [picture] of (await pack.readText(part)).matchAll(PICTURE)) {
    for (const [, double, single] of picture.matchAll(ADDRESS)) {
      problems.push({
        severity: 'error',
        code: 'workbook.external',
        ...(sheet === undefined ? {} : { at: { sheet } }),
        expected: 'pictures in the workbook',
        got: clipText(double ?? single ?? ''),
        next: 'Embed the picture, or remove it',
      });
    }
  }
  return problems;
}
