import type { TemplateProblem } from '../../template-problem.ts';
import { clipText } from '../invalid-template.ts';
import { relationshipKind } from '../relationships.ts';
import type { TemplatePackage } from '../template-package.ts';
import { tokenizeXml } from '../tokenize-xml.ts';
import { attributeOf, findPrefixedAttribute } from '../xml-tokens.ts';

/** A link to another workbook, a DDE server or an OLE object. `number` is its number in formulas: `[1]Sheet1!A1`. */
export interface ExternalLink {
  readonly number: number;
  readonly part: string;
  readonly what: string;
}

/** The links of a workbook, ordered by number. */
export async function readExternalLinks(pack: TemplatePackage, workbook: string): Promise<readonly ExternalLink[]> {
  const relationships = (await pack.relationships(workbook)).filter(
    (relationship) => relationshipKind(relationship) === 'externalLink',
  );
  if (relationships.length === 0) return [];
  const ids: string[] = [];
  for (const token of tokenizeXml(await pack.readText(workbook), workbook)) {
    if (token.kind === 'open' && token.local === 'externalReference')
      ids.push(findPrefixedAttribute(token, 'id') ?? '');
  }
  // Links that the workbook does not list have no number, and come last.
  const place = (id: string): number => (ids.includes(id) ? ids.indexOf(id) : ids.length);
  const links: ExternalLink[] = [];
  for (const { target: part } of relationships.toSorted((a, b) => place(a.id) - place(b.id))) {
    links.push({ number: links.length + 1, part, what: await describeLink(pack, part) });
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
