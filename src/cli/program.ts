import { styleText } from 'node:util';
import { Command } from 'commander';
import { version } from '../base/version.ts';
import { addArchiveCommand } from './commands/archive.ts';
import { addBudgetCommand } from './commands/budget.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addDeliveriesCommand } from './commands/deliveries.ts';
import { addDemoCommand } from './commands/demo.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addInitCommand } from './commands/init.ts';
import { addPauseCommand } from './commands/pause.ts';
import { addCheckCommand } from './commands/reports/check.ts';
import { addDiffCommand } from './commands/reports/diff.ts';
import { addExplainCommand } from './commands/reports/explain.ts';
import { addPreviewCommand } from './commands/reports/preview.ts';
import { addScheduleCommand } from './commands/reports/schedule.ts';
import { addSchemaCommand } from './commands/reports/schema.ts';
import { addResumeCommand } from './commands/resume.ts';
import { addBackfillCommand } from './commands/runs/backfill.ts';
import { addRunsCommand } from './commands/runs/list.ts';
import { addRunCommand } from './commands/runs/run.ts';
import { addSandboxCommand } from './commands/sandbox.ts';
import { addStartCommand } from './commands/start.ts';
import { addTokensCommand } from './commands/tokens.ts';

const HELP_FOOTER = `
With --json a command puts one JSON document on standard output and nothing else there; progress, remarks and logs go to
standard error. An error is {"error": {"code", "message", "expected", "got", "where", "next"}}, and in words on standard error.

Colours and bars are drawn on a terminal alone. NO_COLOR takes the colours away, FORCE_COLOR gives them to a pipe as well.

Definitions are jobs/<org>/<report>.yaml with jobs/<org>/org.yaml beside them (DOCKET_JOBS), your own templates are in templates/
(DOCKET_TEMPLATES), and what was sent is kept in archive/ (DOCKET_ARCHIVE).

Environment: all variables with what they mean are in the README's table; each command's help names those it reads.

Exit codes: 0 done; 1 the run or check failed; 2 usage or configuration; 3 held or partly delivered; 130 stopped by Ctrl-C, 143 by
SIGTERM (docket start and docket sandbox, which run until they are stopped, then end with 0)

Examples:
  docket demo
  docket check
  docket run acme/weekly-kpi --no-deliver`;

/** In the order in which a newcomer needs them; the help and docs/cli.md follow it. */
const GROUPS: readonly (readonly [string, readonly ((program: Command) => void)[]])[] = [
  ['First steps:', [addDemoCommand, addInitCommand, addDoctorCommand, addSandboxCommand]],
  [
    'Reports:',
    [addSchemaCommand, addCheckCommand, addExplainCommand, addPreviewCommand, addDiffCommand, addScheduleCommand],
  ],
  ['Runs:', [addRunCommand, addStartCommand, addBackfillCommand, addPauseCommand, addResumeCommand]],
  ['What was made and sent:', [addRunsCommand, addDeliveriesCommand, addArchiveCommand]],
  ['Operation:', [addBudgetCommand, addTokensCommand, addCompletionCommand]],
];

/**
 * Every command's name, options and help; nothing else. What a command needs is imported inside its action, so that
 * `docket --help` never waits for BullMQ, the workbook writer or the sandbox.
 */
export function createProgram(): Command {
  const program = new Command('docket')
    .description('Runs saved report definitions on schedules, inside the API budget, and delivers them once.')
    .version(version())
    .configureHelp({ styleTitle: (title) => styleText('bold', title, { validateStream: false }) })
    // The error is thrown as well, and told in the form of all others.
    .configureOutput({ outputError: () => {} })
    .addHelpText('after', HELP_FOOTER)
    .exitOverride();
  for (const [group, adders] of GROUPS) {
    program.commandsGroup(group);
    for (const add of adders) add(program);
  }
  return program;
}
