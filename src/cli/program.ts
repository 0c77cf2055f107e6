import { styleText } from 'node:util';
import { Command } from 'commander';
import { version } from '../base/version.ts';
import { addArchive } from './archive.ts';
import { addBackfill } from './backfill.ts';
import { addBudget } from './budget.ts';
import { addCheck } from './check.ts';
import { addCompletion } from './completion.ts';
import { addDeliveries } from './deliveries.ts';
import { addDemo } from './demo.ts';
import { addDiff } from './diff.ts';
import { addDoctor } from './doctor.ts';
import { addExplain } from './explain.ts';
import { addInit } from './init.ts';
import { addPause } from './pause.ts';
import { addPreview } from './preview.ts';
import { addResume } from './resume.ts';
import { addRun } from './run.ts';
import { addRuns } from './runs.ts';
import { addSandbox } from './sandbox.ts';
import { addSchedule } from './schedule.ts';
import { addSchema } from './schema.ts';
import { addStart } from './start.ts';
import { addTokens } from './tokens.ts';

const AFTER = `
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
  ['First steps:', [addDemo, addInit, addDoctor, addSandbox]],
  ['Reports:', [addSchema, addCheck, addExplain, addPreview, addDiff, addSchedule]],
  ['Runs:', [addRun, addStart, addBackfill, addPause, addResume]],
  ['What was made and sent:', [addRuns, addDeliveries, addArchive]],
  ['Operation:', [addBudget, addTokens, addCompletion]],
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
    .addHelpText('after', AFTER)
    .exitOverride();
  for (const [group, adders] of GROUPS) {
    program.commandsGroup(group);
    for (const add of adders) add(program);
  }
  return program;
}
