import { Command } from 'commander';
import { version } from '../base/version.ts';
import { addArchive } from './archive.ts';
import { addBackfill } from './backfill.ts';
import { addBudget } from './budget.ts';
import { addCheck } from './check.ts';
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

/**
 * Every command's name, options and help; nothing else. What a command needs is imported inside its action, so that
 * `docket --help` never waits for BullMQ, the workbook writer or the sandbox.
 */
export function createProgram(): Command {
  const program = new Command('docket')
    .description('Runs saved report definitions on schedules, inside the API budget, and delivers them once.')
    .version(version())
    .showHelpAfterError('(run with --help for the options)')
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 the run or check failed, 2 usage or configuration, 3 held or partly delivered.',
    )
    .exitOverride();
  for (const add of [
    addDemo,
    addStart,
    addRun,
    addBackfill,
    addPreview,
    addCheck,
    addExplain,
    addDiff,
    addSchedule,
    addPause,
    addResume,
    addRuns,
    addDeliveries,
    addArchive,
    addBudget,
    addDoctor,
    addInit,
    addTokens,
    addSchema,
    addSandbox,
  ]) {
    add(program);
  }
  return program;
}
