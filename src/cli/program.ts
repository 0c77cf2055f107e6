import { styleText } from 'node:util';
import { version } from '../base/context.ts';
import { reflowHelp } from './help-text.ts';
import type { CommandIo } from './io.ts';
import { addArchiveCommands } from './program/archive.ts';
import { DocketCommand } from './program/command.ts';
import { addDenialCommands } from './program/denials.ts';
import { addFirstSteps } from './program/first-steps.ts';
import { addOperationCommands } from './program/operation.ts';
import { addReportCommands } from './program/reports.ts';
import { addResultCommands } from './program/results.ts';
import { addRunCommands } from './program/runs.ts';
import { addSwitchCommands } from './program/switches.ts';
import { hasColors, terminalWidth } from './terminal/style.ts';

const HELP_FOOTER = `
With --json a command prints one JSON document on standard output and nothing else; progress, remarks and logs go to
standard error. An error is {"error": {"code", "message", "expected", "got", "where", "next"}}, and text on standard error.

Colours and progress bars need a terminal. NO_COLOR turns colours off, FORCE_COLOR turns them on for pipes as well.

Definitions are jobs/<org>/<report>.yaml with jobs/<org>/org.yaml (DOCKET_JOBS), your own templates are in templates/
(DOCKET_TEMPLATES), and runs are archived in archive/ (DOCKET_ARCHIVE).

Environment: docs/reference/environment.md describes all variables; each command's help names those it reads.

Exit codes: 0 done; 1 the run or check failed; 2 usage or configuration; 3 held or partly delivered; 130 stopped by Ctrl-C, 143 by
SIGTERM (docket start and docket sandbox run until they are stopped, then exit with 0)

Examples:
  docket demo
  docket check
  docket run acme/weekly-kpi --no-deliver
  docket runs`;

/**
 * Declares names, options and help of all commands. A command imports its dependencies inside its action, so that
 * `docket --help` does not load BullMQ, exceljs or the sandbox.
 */
export function createProgram(io: CommandIo): DocketCommand {
  const { stdout, stderr, env } = io;
  const program = new DocketCommand('docket')
    .description('Runs report definitions on schedules, within the API’s rate limit, and delivers each report once.')
    .version(version())
    .configureHelp({ styleTitle: (title) => styleText('bold', title, { validateStream: false }) })
    .configureOutput({
      writeOut: (text) => void stdout.write(reflowHelp(text, terminalWidth(stdout, env))),
      writeErr: (text) => void stderr.write(text),
      getOutHasColors: () => hasColors(stdout, env),
      getErrHasColors: () => hasColors(stderr, env),
      getOutHelpWidth: () => (stdout.isTTY ? stdout.columns : undefined) ?? 80,
      getErrHelpWidth: () => (stderr.isTTY ? stderr.columns : undefined) ?? 80,
      // runProgram prints the errors that commander throws.
      outputError: () => {},
    })
    .addHelpText('after', HELP_FOOTER)
    .exitOverride();
  // This is the order of the commands in the help and in docs/reference/cli.md.
  for (const add of [
    addFirstSteps,
    addReportCommands,
    addRunCommands,
    addSwitchCommands,
    addDenialCommands,
    addResultCommands,
    addArchiveCommands,
    addOperationCommands,
  ])
    add(program, io);
  return program;
}
