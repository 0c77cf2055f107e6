import { DocketError } from '../../../../base/error.ts';
import type { TemplateProblem } from '../../template-problem.ts';
import { clipText, problemOfError } from '../invalid-template.ts';
import { ownerOfRelationships, relationshipKind } from '../relationships.ts';
import type { Relationship, TemplatePackage } from '../template-package.ts';
import { findAnchor } from './locate.ts';
import type { ExternalLink } from './refused-links.ts';

type Refusal = Omit<TemplateProblem, 'at'>;

/** Relationships inside the package whose parts are refused or cause a warning. */
const KINDS: ReadonlyMap<string, Refusal> = new Map([
  [
    'rdRichValueWebImage',
    {
      severity: 'error',
      code: 'workbook.external',
      expected: 'pictures in the workbook',
      got: 'pictures from the web in cells',
      next: 'Insert the pictures from files',
    },
  ],
  [
    'xlMacrosheet',
    {
      severity: 'error',
      code: 'workbook.invalid',
      expected: 'worksheets and chart sheets',
      got: 'a sheet with Excel 4.0 macros',
      next: 'Delete the macro sheet',
    },
  ],
  [
    'connections',
    {
      severity: 'warning',
      code: 'workbook.external',
      expected: 'no data connections',
      got: 'data connections, which Excel may refresh for each reader',
      next: 'Remove them under Data > Queries & Connections if the workbook does not need them',
    },
  ],
  [
    'webextensiontaskpanes',
    {
      severity: 'warning',
      code: 'workbook.external',
      expected: 'no Office add-ins',
      got: 'an Office add-in, which Excel loads from its provider',
      next: 'Remove the add-in under File > Info > Inspect Document',
    },
  ],
]);

const REMOTE_KINDS: ReadonlyMap<string, string> = new Map([
  ['image', 'a picture that is linked, not embedded'],
  ['oleObject', 'an OLE object that is linked, not embedded'],
  ['externalLinkPath', 'a pivot table over another workbook'],
]);

/**
 * The problems of a package's relationships: content outside of the workbook, a signature of the whole package, and
 * missing targets.
 * @param sheets names of sheets, by part
 * @param links parts whose own relationships are reported elsewhere
 */
export async function findRefusedRelationships(
  pack: TemplatePackage,
  sheets: ReadonlyMap<string, string>,
  links: readonly ExternalLink[],
): Promise<readonly TemplateProblem[]> {
  const linkParts = new Set(links.map((link) => link.part));
  const problems: TemplateProblem[] = [];
  for (const part of pack.parts) {
    const owner = ownerOfRelationships(part);
    if (owner === undefined || (owner !== null && linkParts.has(owner))) continue;
    const sheet = owner === null ? undefined : sheets.get(owner);
    for (const { cell, ...refusal } of await collectRefusals(pack, part, owner ?? undefined)) {
      problems.push({
        ...refusal,
        ...(sheet === undefined ? {} : { at: { sheet, ...(cell === undefined ? {} : { cell }) } }),
      });
    }
  }
  return problems;
}

/** @param part the part with the relationships of `owner` */
async function collectRefusals(
  pack: TemplatePackage,
  part: string,
  owner: string | undefined,
): Promise<readonly (Refusal & { readonly cell?: string | undefined })[]> {
  let all: readonly Relationship[];
  try {
    all = await pack.relationships(owner);
  } catch (error) {
    if (!(error instanceof DocketError) || error.code !== 'template.invalid') throw error;
    return [problemOfError(error)];
  }
  const refusals: (Refusal & { readonly cell?: string | undefined })[] = [];
  const ids = new Set<string>();
  for (const relationship of all) {
    const { id } = relationship;
    const refusal = ids.has(id)
      ? damaged('error', `each relationship once in ${clipText(part)}`, `${clipText(id)} twice`)
      : findRefusal(pack, part, relationship);
    ids.add(id);
    if (refusal === undefined) continue;
    const inDrawing = owner !== undefined && relationship.external && isDrawing(pack, owner);
    refusals.push(inDrawing ? { ...refusal, cell: await findAnchor(pack, owner, id) } : refusal);
  }
  return refusals;
}

function findRefusal(pack: TemplatePackage, part: string, relationship: Relationship): Refusal | undefined {
  const kind = relationshipKind(relationship);
  if (relationship.type.includes('/digital-signature/')) {
    return {
      severity: 'error',
      code: 'workbook.invalid',
      expected: 'a workbook without a signature of the whole file',
      got: 'a digital signature',
      next: 'Remove the signature under File > Info; a signature of the macros may stay',
    };
  }
  if (relationship.external) {
    // A hyperlink does nothing until a reader follows it.
    if (kind === 'hyperlink') return undefined;
    return external(
      'content in the workbook',
      REMOTE_KINDS.get(kind) ?? `${clipText(kind)} outside of it`,
      relationship,
    );
  }
  if (relationship.target.startsWith('#')) return undefined;
  if (!pack.has(relationship.target)) {
    return damaged('warning', `the part ${clipText(relationship.target)}`, `none, though ${clipText(part)} names it`);
  }
  if (pack.contentType(relationship.target) === undefined) {
    return damaged('warning', `a content type of ${clipText(relationship.target)}`, 'none');
  }
  // `xlIntlMacrosheet` is the same in another language.
  return KINDS.get(kind === 'xlIntlMacrosheet' ? 'xlMacrosheet' : kind);
}

const external = (expected: string, got: string, { target }: Relationship): Refusal => ({
  severity: 'error',
  code: 'workbook.external',
  expected,
  got: `${got}: ${clipText(target)}`,
  next: 'Embed it, or remove it',
});

const damaged = (severity: 'error' | 'warning', expected: string, got: string): Refusal => ({
  severity,
  code: 'workbook.invalid',
  expected,
  got,
  next: 'Open the workbook in Excel, save it again, and check it',
});

const isDrawing = (pack: TemplatePackage, part: string): boolean =>
  pack.contentType(part)?.endsWith('.drawing+xml') ?? false;
