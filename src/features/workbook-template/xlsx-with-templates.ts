import { findOutputFile } from '../../definitions/load/org-file.ts';
import { DEFAULT_LOCALE } from '../../i18n/messages.ts';
import type { Format } from '../../render/formats/format.ts';
import { planWorkbook, WITH_MACROS, type XlsxOutput, xlsxFormat } from '../../render/formats/xlsx/xlsx-format.ts';
import { keepsMacros, TEMPLATE_FIELDS, type TemplateOutput, templateFiles } from './template-output.ts';

/** The format xlsx, extended by workbooks of the organization that a report fills. */
export const xlsxWithTemplates: Format<XlsxOutput & TemplateOutput> = {
  ...xlsxFormat,
  schema: xlsxFormat.schema.extend(TEMPLATE_FIELDS),
  diagnostics: ({ template, macros }) =>
    macros === undefined || (template !== undefined && /m$/i.test(template))
      ? []
      : [
          {
            path: ['macros'],
            expected: 'a .xlsm or .xltm template beside it: other workbooks have no macros',
            next: 'remove it, or name such a template',
          },
        ],
  files: templateFiles,
  fileTools: async () => (await import('./file-tools.ts')).fileTools,
  render: async (dataset, output, context) => {
    const { macros = 'keep' } = output;
    const [template] = templateFiles(output);
    if (template === undefined) return xlsxFormat.render(dataset, output, context);
    const fill = async (path: string) => {
      const [{ definedHash, fillTemplate }, { changedTemplate }] = await Promise.all([
        import('./fill/fill-template.ts'),
        import('./fill/template-error.ts'),
      ]);
      const { orgFolder, definition, locale = DEFAULT_LOCALE } = context;
      const isDefined = definedHash(definition, template.file) !== undefined;
      const found = await findOutputFile(orgFolder, template).catch((error: unknown) => {
        throw isDefined ? changedTemplate(error) : error;
      });
      return fillTemplate(found, path, dataset, { ...context, locale, macros });
    };
    return [planWorkbook(output, context, fill, keepsMacros(output) ? WITH_MACROS : undefined)];
  },
};
