import { relative } from 'node:path';
import type { Surroundings } from '../../compose/ports.ts';
import { loadJobs } from '../../define/load.ts';
import { examineDefinitions } from '../doctor/definitions.ts';
import { diagnose } from '../doctor/diagnose.ts';
import type { Finding } from '../doctor/finding.ts';
import { type Answers, howToSet, isSet, quoteForShell } from './answers.ts';
import { type Places, reportNames } from './files.ts';
import type { Seen } from './service.ts';

export interface Proof {
  readonly findings: readonly Finding[];
  /** Commands to go on with, as they can be typed, each with what it does. */
  readonly next: readonly string[];
}

export interface Proving {
  readonly places: Places;
  readonly around: Surroundings;
  readonly offline: boolean;
  readonly signal: AbortSignal;
}

/** Tries what was written, as `docket doctor` would with `docket.env` in its environment. */
export async function proveInit(
  answers: Answers,
  { catalog }: Seen,
  { places, around, offline, signal }: Proving,
): Promise<Proof> {
  const { url, smtpUrl, mailFrom, key, org } = answers;
  const jobs = await loadJobs(places.jobs);
  const known = new Map(catalog === undefined ? [] : [[org, catalog] as const]);
  const config = {
    ...around.config,
    DOCKET_JOBS: places.jobs,
    COMPLIANCE_API_URL: url,
    ...(around.config.SMTP_URL === undefined && smtpUrl !== undefined ? { SMTP_URL: smtpUrl } : {}),
    ...(around.config.MAIL_FROM === undefined && mailFrom !== undefined ? { MAIL_FROM: mailFrom } : {}),
  };
  const findings = offline
    ? [examineDefinitions(jobs, known, around.clock.now())]
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
  return { findings, next: (await isSet(key, around.env)) ? next : [howToSet(key), ...next] };
}
