import type { Command } from 'commander';
import type { Finding } from './doctor/finding.ts';

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description(
      'Try everything that `docket start` needs: Redis, definitions, API keys, mail server, targets, archive',
    )
    .option('--catalog', 'ask each organization’s metric catalog as well: one metrics call of its key')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Sends nothing, writes nothing that stays, and without --catalog spends no metrics call: a key is tried by asking which
organizations it reaches. With REDIS_URL set, calls stand in the same line as those of the workers.
Each line is ok, warn or fail, with what to do about it.

Environment: all that docket start reads: COMPLIANCE_API_URL, REDIS_URL, SMTP_URL, MAIL_FROM, DOCKET_JOBS, DOCKET_ARCHIVE,
DOCKET_SECRET_FOLDERS, DOCKET_REQUIRE_DESTINATIONS, DOCKET_REPORT_SCOPE, DOCKET_ADMIN_TOKENS, LOG_LEVEL, and the organizations' secrets

Exit codes: 0 nothing fails, warnings are allowed; 1 something does; 2 usage or configuration

Examples:
  docket doctor
  docket doctor --catalog                          after a key was changed: may it read metrics, and which?
  docket doctor --json | jq '.findings[] | select(.state != "ok")'`,
    )
    .action(doctor);
}

async function doctor(flags: { readonly catalog?: boolean; readonly json?: boolean }): Promise<void> {
  const [{ abortOnSignal, readSurroundings }, { loadJobs }, { diagnose }, print] = await Promise.all([
    import('./surroundings.ts'),
    import('../define/load.ts'),
    import('./doctor/diagnose.ts'),
    import('./print.ts'),
  ]);
  const around = readSurroundings();
  const jobs = await loadJobs(around.config.DOCKET_JOBS);
  const findings = await diagnose(jobs, around, { askCatalogs: flags.catalog ?? false, signal: abortOnSignal() });
  if (flags.json) print.printJson({ findings });
  else for (const finding of findings) print.printLine(findingLines(finding));
  process.exitCode = findings.some(({ state }) => state === 'fail') ? 1 : 0;
}

/** One finding as a person reads it: what to do stands below. */
export const findingLines = ({ what, state, detail, remedy }: Finding): string =>
  `${state.padEnd(4)}  ${what}: ${detail}${remedy === undefined ? '' : `\n      ${remedy}`}`;
