import type { TemplateProblem } from '../../template-problem.ts';
import { attributeOf } from '../attributes.ts';
import { clipText } from '../invalid-template.ts';
import { relationshipKind } from '../relationships.ts';
import type { TemplatePackage } from '../template-package.ts';
import { tokenizeXml } from '../tokenize-xml.ts';

/** A link to another workbook, a DDE server or an OLE object, by the number that formulas call it by: `[1]Sheet1!A1`. */
export interface ExternalLink {
  readonly number: number;
  readonly what: string;
}

/** The links of a workbook, in the order of its part. */
export async function readExternalLinks(pack: TemplatePackage, workbook: string): Promise<readonly ExternalLink[]> {
  const relationships = await pack.relationships(workbook);
  const links: ExternalLink[] = [];
  for (const relationship of relationships) {
    if (relationshipKind(relationship) !== 'externalLink') continue;
    links.push({ number: links.length + 1, what: await describeLink(pack, relationship.target) });
  }
  return links;
}

async function describeLink(pack: TemplatePackage, part: string): Promise<string> {
  if (!pack.has(part)) return 'a link whose part is missing';
  const target = (await pack.relationships(part)).find(({ external }) => external)?.target;
  for (const token of tokenizeXml(await pack.readText(part), part)) {
    if (token.kind !== 'open') continue;
    if (token.local === 'ddeLink') {
      const [service, topic] = [attributeOf(token, 'ddeService'), attributeOf(token, 'ddeTopic')];
      return `a DDE link to ${clipText(`${service}|${topic}`)}`;
    }
    if (token.local === 'oleLink') return `an OLE link to ${clipText(target ?? 'another file')}`;
  }
  return `a link to ${clipText(target ?? 'another workbook')}`;
}

export const linkProblem = (what: string, at: TemplateProblem['at']): TemplateProblem => ({
  severity: 'error',
  code: 'workbook.external',
  ...(at === undefined ? {} : { at }),
  expected: 'a workbook without links to other files and programs',
  got: what,
  next: 'Break the link under Data > Edit Links, and delete the names and formulas that use it',
});
