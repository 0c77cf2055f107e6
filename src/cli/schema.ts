import { Argument, type Command } from 'commander';

export function addSchema(program: Command): void {
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
      const { orgJsonSchema, reportJsonSchema } = await import('../define/schema.ts');
      const { printJson } = await import('./print.ts');
      printJson(file === 'org' ? orgJsonSchema() : reportJsonSchema());
    });
}
