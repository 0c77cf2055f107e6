import { relative } from 'node:path';
import type { AppContext } from '../../base/context.ts';
import { loadDefinitions } from '../../services/definitions/built-in-kinds.ts';
import { checkDefinitions } from '../doctor/definitions.ts';
import { diagnose } from '../doctor/diagnose.ts';
import type { Finding } from '../doctor/finding.ts';
import { type Answers, isSecretSet, quoteForShell, secretSetupCommand } from './answers.ts';
import { type InitPaths, reportNames } from './files.ts';
import type { ServiceInfo } from './query-service.ts';

export interface SetupVerification {
  readonly findings: readonly Finding[];
  /** Commands to go on with, as they can be typed, each with what it does. */
  readonly next: readonly string[];
}

export interface VerifySetupOptions {
  readonly places: InitPaths;
  readonly around: AppContext;
  readonly offline: boolean;
  readonly signal: AbortSignal;
}

/** Tries what was written, as `docket doctor` would with `docket.env` in its environment. */
export async function verifySetup(
  answers: Answers,
  { catalog }: ServiceInfo,
  { places, around, offline, signal }: VerifySetupOptions,
): Promise<SetupVerification> {
  const { url, smtpUrl, mailFrom, key, org } = answers;
  const jobs = await loadDefinitions(places.jobs);
  const known = new Map(catalog === undefined ? [] : [[org, catalog] as const]);
  const config = {
    ...around.config,
    DOCKET_JOBS: places.jobs,
    COMPLIANCE_API_URL: url,
    ...(around.config.SMTP_URL === undefined && smtpUrl !== undefined ? { SMTP_URL: smtpUrl } : {}),
    ...(around.config.MAIL_FROM === undefined && mailFrom !== undefined ? { MAIL_FROM: mailFrom } : {}),
  };
  const findings = offline
    ? [checkDefinitions(jobs, known, around.clock.now())]
    : await diagnose(jobs, { ...around, config }, { askCatalogs: false, known, signal });
  const folder = relative('.', places.folder);
  const [first = ''] = reportNames(answers);
  const [to = ''] = answers.to;
  const more = answers.to.length > 1 ? ` and ${answers.to.length - 1} more` : '';
  const steps: (readonly [string, string])[] = [
    [
      `${folder === '' ? '' : `cd ${quoteForShell(folder)} && `}set -a; . ./docket.env; set +a`,
      'in each terminal: the variables, none of them secret',
    ],
    [`docket run ${first}`, `one run now, by e-mail to ${to}${more}`],
    ['docket start', 'the schedule, until it is stopped'],
  ];
  const width = Math.max(...steps.map(([command]) => command.length));
  const next = steps.map(([command, what]) => `${command.padEnd(width)}   # ${what}`);
  return { findings, next: (await isSecretSet(key, around.env)) ? next : [secretSetupCommand(key), ...next] };
}
