import { Argument, type Command } from 'commander';

export function addSchemaCommand(program: Command): void {
  program
    .command('schema')
    .description('Print the JSON Schema of report definitions (or of org.yaml) for editors')
    .addArgument(new Argument('[file]', 'which file').choices(['report', 'org']).default('report'))
    .option('--json', 'what it prints in any case: one JSON document')
    .addHelpText(
      'after',
      `
Point a definition to it in its first line:
  # yaml-language-server: $schema=../report.schema.json

Environment: none

Examples:
  docket schema > jobs/report.schema.json
  docket schema org > jobs/org.schema.json`,
    )
    .action(async (file: 'report' | 'org') => {
      const [{ orgJsonSchema, reportJsonSchema }, { BUILT_IN_KINDS }, { printJson }] = await Promise.all([
        import('../../../definitions/schema/json-schema.ts'),
        import('../../../services/definitions/built-in-kinds.ts'),
        import('../../terminal/print.ts'),
      ]);
      printJson(file === 'org' ? orgJsonSchema() : reportJsonSchema(BUILT_IN_KINDS));
    });
}
