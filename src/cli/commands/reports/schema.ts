import { Argument, type Command } from 'commander';
import type { CommandIo } from '../../io.ts';
import { createPrinter } from '../../terminal/print.ts';

export function addSchemaCommand(program: Command, io: CommandIo): void {
  program
    .command('schema')
    .description('Print the JSON Schema of report definitions (or of org.yaml) for editors')
    .addArgument(new Argument('[file]', 'kind of file').choices(['report', 'org']).default('report'))
    .option('--json', 'no effect: the output is always one JSON document')
    .addHelpText(
      'after',
      `
Refer to it in the first line of a definition:
  # yaml-language-server: $schema=../report.schema.json

Environment: none

Examples:
  docket schema > jobs/report.schema.json
  docket schema org > jobs/org.schema.json`,
    )
    .action(async (file: 'report' | 'org') => {
      const [{ orgJsonSchema, reportJsonSchema }, { BUILT_IN_KINDS }] = await Promise.all([
        import('../../../definitions/schema/json-schema.ts'),
        import('../../../services/definitions/built-in-kinds.ts'),
      ]);
      createPrinter(io).printJson(file === 'org' ? orgJsonSchema() : reportJsonSchema(BUILT_IN_KINDS));
    });
}
