import { relative } from 'node:path';
import type { AppContext } from '../../base/context.ts';
import { loadDefinitions } from '../../compose/built-in-kinds.ts';
import { checkDefinitions } from '../../compose/probes/definitions.ts';
import { diagnose } from '../../compose/probes/diagnose.ts';
import type { Finding } from '../../services/deployment/probe.ts';
import { type Answers, isSecretSet, quoteForShell, secretSetupCommand } from './answers.ts';
import { type InitPaths, reportNames } from './files.ts';
import type { ServiceInfo } from './query-service.ts';

export interface SetupVerification {
  readonly findings: readonly Finding[];
  /** Shell commands to run next, each with a comment. */
  readonly next: readonly string[];
}

export interface VerifySetupOptions {
  readonly paths: InitPaths;
  readonly context: AppContext;
  readonly offline: boolean;
  readonly signal: AbortSignal;
}

/** Checks the written files as `docket doctor` does with the variables of `docket.env`. */
export async function verifySetup(
  answers: Answers,
  { catalog }: ServiceInfo,
  { paths, context, offline, signal }: VerifySetupOptions,
): Promise<SetupVerification> {
  const { url, smtpUrl, mailFrom, key, org } = answers;
  const jobs = await loadDefinitions(paths.jobs);
  const known = new Map(catalog === undefined ? [] : [[org, catalog] as const]);
  const config = {
    ...context.config,
    DOCKET_JOBS: paths.jobs,
    COMPLIANCE_API_URL: url,
    ...(context.config.SMTP_URL === undefined && smtpUrl !== undefined ? { SMTP_URL: smtpUrl } : {}),
    ...(context.config.MAIL_FROM === undefined && mailFrom !== undefined ? { MAIL_FROM: mailFrom } : {}),
  };
  const findings = offline
    ? [{ what: 'Definitions', ...checkDefinitions({ jobs, now: context.clock.now() }, known) }]
    : await diagnose(jobs, { ...context, config }, { askCatalogs: false, known, signal });
  const folder = relative(context.workingDirectory ?? '.', paths.folder);
  const [first = ''] = reportNames(answers);
  const [to = ''] = answers.to;
  const more = answers.to.length > 1 ? ` and ${answers.to.length - 1} more` : '';
  const steps: (readonly [string, string])[] = [
    [
      `${folder === '' ? '' : `cd ${quoteForShell(folder)} && `}set -a; . ./docket.env; set +a`,
      'in each terminal: sets the variables, none is secret',
    ],
    [`docket run ${first}`, `runs it now, by e-mail to ${to}${more}`],
    ['docket start', 'runs the schedules until it is stopped'],
  ];
  const width = Math.max(...steps.map(([command]) => command.length));
  const next = steps.map(([command, comment]) => `${command.padEnd(width)}   # ${comment}`);
  return { findings, next: (await isSecretSet(key, context.env)) ? next : [secretSetupCommand(key), ...next] };
}
