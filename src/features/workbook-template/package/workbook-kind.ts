import { CONTENT_TYPES_PART, partKey } from './content-types.ts';
import { relationshipKind } from './relationships.ts';
import type { PartChange, TemplatePackage } from './template-package.ts';
import { changeAttributes, escapeXmlAttribute, tokenizeXml } from './tokenize-xml.ts';
import { findWorkbookPart } from './workbook-part.ts';
import { attributeOf } from './xml-tokens.ts';

const WORKBOOK_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml';
const MACRO_WORKBOOK_TYPE = 'application/vnd.ms-excel.sheet.macroEnabled.main+xml';

/**
 * The changes that turn a template (`.xltx`, `.xltm`) into a workbook, with or without macros.
 * @param macros `remove` leaves out the project, its signatures, and the ribbon's events and buttons that call it;
 *   shapes keep the names of macros, which then do nothing
 */
export async function changeWorkbookKind(
  pack: TemplatePackage,
  macros: 'keep' | 'remove',
): Promise<Map<string, PartChange>> {
  const changes = new Map<string, PartChange>();
  const workbook = await findWorkbookPart(pack);
  const projects = (await pack.relationships(workbook)).filter(
    (relationship) => relationshipKind(relationship) === 'vbaProject',
  );
  const withMacros = projects.length > 0 && macros === 'keep';
  if (projects.length > 0 && macros === 'remove') {
    for (const { target } of projects) {
      changes.set(target, null);
      // Removes signatures of the project, and its data for Word and Excel.
      for (const own of await pack.relationships(target)) if (!own.external) changes.set(own.target, null);
    }
    for (const relationship of await pack.relationships()) {
      if (relationshipKind(relationship) === 'extensibility' && !relationship.external)
        changes.set(relationship.target, null);
    }
  }
  const type = withMacros ? MACRO_WORKBOOK_TYPE : WORKBOOK_TYPE;
  if (pack.contentType(workbook) !== type) {
    const text = await pack.readText(CONTENT_TYPES_PART);
    changes.set(CONTENT_TYPES_PART, withContentType(text, workbook, type));
  }
  return changes;
}

/** The text of `[Content_Types].xml` with a changed type of one part. */
function withContentType(text: string, part: string, type: string): string {
  let changed = '';
  let found = false;
  for (const token of tokenizeXml(text, CONTENT_TYPES_PART)) {
    if (
      token.kind === 'open' &&
      token.local === 'Override' &&
      partKey(attributeOf(token, 'PartName') ?? '') === partKey(part)
    ) {
      changed += changeAttributes(token, { ContentType: type });
      found = true;
    } else if (token.kind === 'close' && token.local === 'Types' && !found) {
      const prefix = token.name.slice(0, -'Types'.length);
      changed += `<${prefix}Override PartName="/${escapeXmlAttribute(part)}" ContentType="${type}"/>${token.raw}`;
    } else changed += token.raw;
  }
  return changed;
}
