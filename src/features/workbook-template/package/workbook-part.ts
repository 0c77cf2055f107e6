import { clipText, invalidTemplate } from './invalid-template.ts';
import { relationshipKind } from './relationships.ts';
import type { TemplatePackage } from './template-package.ts';

/** Media types of the main part of workbooks and templates. `macros` decides whether macros stay. */
const WORKBOOK_TYPES: ReadonlySet<string> = new Set([
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.template.main+xml',
  'application/vnd.ms-excel.sheet.macroEnabled.main+xml',
  'application/vnd.ms-excel.template.macroEnabled.main+xml',
]);

/**
 * The name of the workbook part. Throws `template.invalid` if the package has none, or if its kind cannot be filled.
 */
export async function findWorkbookPart(pack: TemplatePackage): Promise<string> {
  const main = (await pack.relationships()).find(
    (relationship) => !relationship.external && relationshipKind(relationship) === 'officeDocument',
  );
  const type = main === undefined ? undefined : pack.contentType(main.target);
  if (main !== undefined && pack.has(main.target) && type !== undefined && WORKBOOK_TYPES.has(type)) return main.target;
  throw invalidTemplate(pack.file, 'The template is not a workbook.', {
    expected: 'a workbook: .xlsx, .xlsm, .xltx or .xltm',
    got:
      main === undefined
        ? 'a package without a main part'
        : `${clipText(main.target)} of type ${clipText(type ?? 'unknown')}`,
    next: 'Save it in Excel as .xlsx or .xlsm.',
  });
}
