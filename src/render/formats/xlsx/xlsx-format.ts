import { renderFileName } from '../../file-names.ts';
import type { Format } from '../format.ts';
import { workbookKind, type XlsxOutput, xlsxOutputSchema } from './xlsx-output.ts';

const DEFAULT_NAME_TEMPLATE = '{{ title }} {{ period.label }}';

/** An Excel workbook: one or more sheets per section, or a template of the organization that is filled. */
export const xlsxFormat: Format<XlsxOutput> = {
  format: 'xlsx',
  schema: xlsxOutputSchema,
  severalFiles: false,
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
  files: ({ template }) => (template === undefined ? [] : [{ path: ['template'], file: template }]),
  secrets: ({ password }) => (password === undefined ? {} : { password }),
  render: async (dataset, output, context) => {
    const { extension, mediaType } = workbookKind(output);
    return [
      {
        name: renderFileName(output.name ?? DEFAULT_NAME_TEMPLATE, context.variables, extension),
        format: 'xlsx',
        mediaType,
        label: 'the workbook',
        write: async (path) => {
          const { writeWorkbook } = await import('./workbook.ts');
          const { template: name, macros = 'keep' } = output;
          const template = name === undefined ? undefined : { name, macros };
          return writeWorkbook(path, dataset, { ...context, template, password: context.secrets.password });
        },
      },
    ];
  },
};
