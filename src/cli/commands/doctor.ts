import type { Command } from 'commander';
import type { Finding } from '../doctor/finding.ts';
import type { CommandIo } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';

export function addDoctorCommand(program: Command, io: CommandIo): void {
  program
    .command('doctor')
    .description(
      'Check everything that `docket start` needs: Redis, definitions, API keys, mail server, targets, archive',
    )
    .option('--catalog', 'also fetch each organization’s metric catalog: one metrics call per key')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Sends nothing, leaves no file behind, and without --catalog spends no metrics call: a key is checked by listing the
organizations that it reaches. With REDIS_URL set, calls share the workers' rate limiter.
Each line is ok, warn or fail, with a remedy.

Environment: all that docket start reads: COMPLIANCE_API_URL, REDIS_URL, SMTP_URL, MAIL_FROM, DOCKET_JOBS, DOCKET_ARCHIVE,
DOCKET_SECRET_FOLDERS, DOCKET_REQUIRE_DESTINATIONS, DOCKET_REPORT_SCOPE, DOCKET_ADMIN_TOKENS, LOG_LEVEL, and the organizations' secrets

Exit codes: 0 no check failed, warnings are allowed; 1 a check failed; 2 usage or configuration

Examples:
  docket doctor
  docket doctor --catalog                          after a key was changed: which metrics may it read?
  docket doctor --json | jq '.findings[] | select(.state != "ok")'`,
    )
    .action((flags: { readonly catalog?: boolean; readonly json?: boolean }) => doctor(flags, io));
}

async function doctor(flags: { readonly catalog?: boolean; readonly json?: boolean }, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [{ createContext }, { loadDefinitions }, { diagnose }] = await Promise.all([
    import('../context.ts'),
    import('../../services/definitions/built-in-kinds.ts'),
    import('../doctor/diagnose.ts'),
  ]);
  const context = createContext(io);
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS);
  const findings = await diagnose(jobs, context, { askCatalogs: flags.catalog ?? false, signal: io.signals.stop() });
  if (flags.json) print.printJson({ findings });
  else for (const finding of findings) print.printLine(formatFinding(finding));
  io.exitCode = findings.some(({ state }) => state === 'fail') ? 1 : 0;
}

/** One finding as text, its remedy on a second line. */
export const formatFinding = ({ what, state, detail, remedy }: Finding): string =>
  `${state.padEnd(4)}  ${what}: ${detail}${remedy === undefined ? '' : `\n      ${remedy}`}`;
