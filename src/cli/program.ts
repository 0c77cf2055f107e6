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
import { addReadingsCommand } from './commands/readings.ts';
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
import type { CommandIo } from './io.ts';
import { hasColors } from './terminal/style.ts';

const HELP_FOOTER = `
With --json a command prints one JSON document on standard output and nothing else; progress, remarks and logs go to
standard error. An error is {"error": {"code", "message", "expected", "got", "where", "next"}}, and text on standard error.

Colours and progress bars need a terminal. NO_COLOR turns colours off, FORCE_COLOR turns them on for pipes as well.

Definitions are jobs/<org>/<report>.yaml with jobs/<org>/org.yaml (DOCKET_JOBS), your own templates are in templates/
(DOCKET_TEMPLATES), and runs are archived in archive/ (DOCKET_ARCHIVE).

Environment: the README's table describes all variables; each command's help names those it reads.

Exit codes: 0 done; 1 the run or check failed; 2 usage or configuration; 3 held or partly delivered; 130 stopped by Ctrl-C, 143 by
SIGTERM (docket start and docket sandbox run until they are stopped, then exit with 0)

Examples:
  docket demo
  docket check
  docket run acme/weekly-kpi --no-deliver`;

/** In the order of the help and of docs/cli.md. */
const GROUPS: readonly (readonly [string, readonly ((program: Command, io: CommandIo) => void)[]])[] = [
  ['First steps:', [addDemoCommand, addInitCommand, addDoctorCommand, addSandboxCommand]],
  [
    'Reports:',
    [addSchemaCommand, addCheckCommand, addExplainCommand, addPreviewCommand, addDiffCommand, addScheduleCommand],
  ],
  ['Runs:', [addRunCommand, addStartCommand, addBackfillCommand, addPauseCommand, addResumeCommand]],
  ['Results:', [addRunsCommand, addDeliveriesCommand, addReadingsCommand, addArchiveCommand]],
  ['Operation:', [addBudgetCommand, addTokensCommand, addCompletionCommand]],
];

/**
 * Names, options and help of all commands. A command imports its dependencies inside its action: `docket --help` must not
 * load BullMQ, exceljs or the sandbox.
 */
export function createProgram(io: CommandIo): Command {
  const { stdout, stderr, env } = io;
  const program = new Command('docket')
    .description('Runs saved report definitions on schedules, inside the API budget, and delivers them once.')
    .version(version())
    .configureHelp({ styleTitle: (title) => styleText('bold', title, { validateStream: false }) })
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
      getOutHasColors: () => hasColors(stdout, env),
      getErrHasColors: () => hasColors(stderr, env),
      getOutHelpWidth: () => (stdout.isTTY ? stdout.columns : undefined) ?? 80,
      getErrHelpWidth: () => (stderr.isTTY ? stderr.columns : undefined) ?? 80,
      // runProgram prints the error that commander throws.
      outputError: () => {},
    })
    .addHelpText('after', HELP_FOOTER)
    .exitOverride();
  for (const [group, adders] of GROUPS) {
    program.commandsGroup(group);
    for (const add of adders) add(program, io);
  }
  return program;
}
