import { Argument, type Command } from 'commander';
import type { CommandIo } from '../../io.ts';
import { createPrinter } from '../../terminal/print.ts';

export function addSchemaCommand(program: Command, io: CommandIo): void {
  program
    .command('schema')
    .description('Print the JSON Schema of report definitions (or of org.yaml, targets.yaml) for editors')
    .addArgument(new Argument('[file]', 'kind of file').choices(['report', 'org', 'targets']).default('report'))
    .option('--json', 'no effect: the output is always one JSON document')
    .addHelpText(
      'after',
      `
Refer to it in the first line of a definition:
  # yaml-language-server: $schema=../report.schema.json

Environment: none

Examples:
  docket schema > jobs/report.schema.json
  docket schema org > jobs/org.schema.json
  docket schema targets > jobs/targets.schema.json`,
    )
    .action(async (file: 'report' | 'org' | 'targets') => {
      const [{ orgJsonSchema, reportJsonSchema, targetsJsonSchema }, { BUILT_IN_KINDS }] = await Promise.all([
        import('../../../definitions/schema/json-schema.ts'),
        import('../../../services/definitions/built-in-kinds.ts'),
      ]);
      const schemas = {
        report: () => reportJsonSchema(BUILT_IN_KINDS),
        org: orgJsonSchema,
        targets: targetsJsonSchema,
      };
      createPrinter(io).printJson(schemas[file]());
    });
}
