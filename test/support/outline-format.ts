import { z } from 'zod';
import { secretRefSchema } from '../../src/base/secrets/secret.ts';
import { fileNameSchema } from '../../src/definitions/schema/template-fields.ts';
import { renderFileName } from '../../src/render/file-names.ts';
import { type Format, type PlannedFile, writeChunks } from '../../src/render/formats/format.ts';

const schema = z.strictObject({
  format: z.literal('outline'),
  name: fileNameSchema.optional(),
  indent: z.int().min(0).max(8).default(2).describe('Spaces before each title.'),
  seal: secretRefSchema.optional(),
});

/** A format that Docket does not have: the titles of a report's sections, with an index file, and both combined. */
export const outlineFormat: Format<z.output<typeof schema>> = {
  format: 'outline',
  label: 'Outline',
  schema,
  severalFiles: true,
  diagnostics: ({ indent }, sections) =>
    indent * sections.length <= 8
      ? []
      : [{ path: ['indent'], expected: 'less indentation for so many sections', next: 'lower it' }],
  secrets: ({ seal }) => (seal === undefined ? {} : { seal }),
  render: async ({ tables }, { name = '{{ report }}', indent }, { variables, secrets, signal }) => {
    const lines = tables.map(({ title }) => `${' '.repeat(indent)}${title}\n`);
    const file = (extension: `.${string}`, chunks: string[]): PlannedFile => ({
      name: renderFileName(name, variables, extension),
      format: 'outline',
      mediaType: 'text/x-outline',
      label: `the outline ${extension}`,
      write: (path) => writeChunks(path, chunks, signal),
    });
    return [
      file('.outline', [...lines, ...(secrets.seal === undefined ? [] : [`sealed: ${secrets.seal.length}\n`])]),
      {
        ...file('.index', [`${tables.length}\n`]),
        format: 'outline_index',
        mediaType: 'text/x-index',
        part: { of: 'outline', role: 'companion' },
      },
    ];
  },
  bundle: async (files, { variables, signal }) => ({
    name: renderFileName('{{ report }}', variables, '.bundle'),
    format: 'outline_bundle',
    mediaType: 'text/x-bundle',
    part: { of: 'outline', role: 'bundle' },
    label: 'the bundle',
    write: (path, earlier) => writeChunks(path, [`${earlier.length} of ${files.length}\n`], signal),
  }),
};
