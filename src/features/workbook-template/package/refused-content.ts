import { DocketError } from '../../../base/error.ts';
import type { TemplateProblem } from '../template-problem.ts';
import { readWorkbook } from '../workbook/read-workbook.ts';
import { clipText, problemOfError } from './invalid-template.ts';
import { sheetsOfParts } from './refused/locate.ts';
import { findRefusedFormulas, findVmlFormulas, SUSPICIOUS } from './refused/refused-formulas.ts';
import { type ExternalLink, linkProblem, readExternalLinks } from './refused/refused-links.ts';
import { findRefusedRelationships } from './refused/refused-relationships.ts';
import type { TemplatePackage } from './template-package.ts';
import { findWorkbookPart } from './workbook-part.ts';

/** Parts with formulas, apart from sheets, tables and the workbook: charts, their shapes, drawings, form controls. */
const FORMULA_TYPES = /(?:\.chart|\.drawing|chartshapes|chartex|controlproperties)\+xml$/i;

/** Number of characters at the end of a chunk that are searched again with the next one. */
const OVERLAP = 16;

/**
 * Checks a template before it is bound. Refuses damaged parts, content outside of the workbook and a signature of the
 * whole file, and warns about what its reader should know. Inflates every part once; opens no other file.
 * @throws `template.invalid` if it is not a workbook
 */
export async function findRefusedContent(pack: TemplatePackage): Promise<TemplateProblem[]> {
  const workbook = await readWorkbook(pack);
  const workbookPart = await findWorkbookPart(pack);
  const sheets = await sheetsOfParts(pack, workbook);
  const links = await readExternalLinks(pack, workbookPart);
  const unreported = new Set(links.map(({ number }) => number));
  const problems = [...(await findRefusedRelationships(pack, sheets, links))];
  const withFormulas = new Set([
    workbookPart,
    ...workbook.sheets.map(({ part }) => part),
    ...workbook.tables.map(({ part }) => part),
    ...pack.parts.filter((part) => FORMULA_TYPES.test(pack.contentType(part) ?? '')),
  ]);
  for (const part of pack.parts) {
    const sheet = sheets.get(part);
    const hasFormulas = withFormulas.has(part) || isVml(part);
    problems.push(...(await partProblems(pack, part, sheet, hasFormulas ? { links, unreported } : undefined)));
  }
  for (const link of links) if (unreported.has(link.number)) problems.push(linkProblem(link.what, undefined));
  return eachFileOnce(problems);
}

/** Reports a file that several formulas, links and pictures name only once, at the first place that has a cell. */
function eachFileOnce(problems: readonly TemplateProblem[]): TemplateProblem[] {
  const first = new Map<string, TemplateProblem>();
  for (const problem of problems) {
    const key = problem.code === 'workbook.external' ? `${problem.severity} ${problem.got}` : `${first.size}`;
    const before = first.get(key);
    if (before === undefined || (before.at === undefined && problem.at !== undefined)) first.set(key, problem);
  }
  return [...first.values()];
}

const isVml = (part: string): boolean => part.toLowerCase().endsWith('.vml');

async function partProblems(
  pack: TemplatePackage,
  part: string,
  sheet: string | undefined,
  formulas: { readonly links: readonly ExternalLink[]; readonly unreported: Set<number> } | undefined,
): Promise<readonly TemplateProblem[]> {
  try {
    const suspicious = await readThrough(pack, part);
    if (formulas === undefined) return [];
    const { links, unreported } = formulas;
    if (isVml(part)) {
      const inFormulas = findVmlFormulas(await pack.readText(part), sheet, links, unreported);
      return [...(await findRemotePictures(pack, part, sheet)), ...inFormulas];
    }
    return suspicious ? await findRefusedFormulas(pack, part, sheet, links, unreported) : [];
  } catch (error) {
    if (!(error instanceof DocketError) || error.code !== 'template.invalid') throw error;
    return [{ ...problemOfError(error), ...(sheet === undefined ? {} : { at: { sheet } }) }];
  }
}

/** Inflates a part, which checks its size and checksum. True if it may contain a refused formula. */
async function readThrough(pack: TemplatePackage, part: string): Promise<boolean> {
  let suspicious = false;
  let end = '';
  for await (const chunk of await pack.openPart(part)) {
    if (suspicious) continue;
    const text = end + chunk.toString('latin1');
    suspicious = SUSPICIOUS.test(text);
    end = text.slice(-OVERLAP);
  }
  return suspicious;
}

// Older versions of Excel write VML that is not well-formed XML, with `<br>` in texts, so it is searched as text.
const PICTURE = /<(?:\w+:)?(?:imagedata|fill)\s[^<>]*/gi;
const ADDRESS = /\s(?:src|o:href|o:althref)\s*=\s*(?:"([^"]+)"|'([^']+)')/gi;

/** Pictures in a VML drawing (comments, form controls, headers and footers) that name an address instead of a part. */
async function findRemotePictures(
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
