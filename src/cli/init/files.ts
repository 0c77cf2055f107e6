import { join } from 'node:path';
import type { SecretRef } from '../../base/secrets/secret.ts';
import { BUILT_IN_KINDS } from '../../compose/built-in-kinds.ts';
import type { Catalog } from '../../contract/catalog.ts';
import { canonicalDomain, recipientRefusal } from '../../definitions/allow-lists/recipients.ts';
import { orgJsonSchema, reportJsonSchema, targetsJsonSchema } from '../../definitions/schema/json-schema.ts';
import type { RecipeName } from '../recipes/recipe.ts';
import { RECIPES } from '../recipes/recipes.ts';
import { reportYaml, yamlList } from '../recipes/report-yaml.ts';
import { scalar, targetsYaml } from '../recipes/suggested-targets.ts';
import { type Answers, quoteForShell, type StarterReport } from './answers.ts';

export interface NewFile {
  readonly path: string;
  readonly text: string;
  /** Of all organizations: an existing one is kept. */
  readonly shared: boolean;
}

export interface InitPaths {
  /** The folder of `docket.env`. */
  readonly folder: string;
  readonly jobs: string;
}

const RECIPES_OF: Readonly<Record<StarterReport, readonly RecipeName[]>> = {
  weekly: ['weekly-kpi'],
  monthly: ['board-pack'],
  both: ['weekly-kpi', 'board-pack'],
};

/** The names of the created reports, as `<org>/<report>`. */
export const reportNames = (answers: Answers): string[] =>
  RECIPES_OF[answers.report].map((name) => `${answers.org}/${name}`);

/** All files that `docket init` writes, from the answers and the key's catalog. No secrets. */
export function createFiles(
  answers: Answers,
  catalog: Catalog | undefined,
  { folder, jobs }: InitPaths,
): readonly NewFile[] {
  const own = join(jobs, answers.org);
  const json = (schema: unknown) => `${JSON.stringify(schema, null, 2)}\n`;
  return [
    { path: join(own, 'org.yaml'), text: orgYaml(answers), shared: false },
    { path: join(own, 'targets.yaml'), text: targetsYaml(answers, catalog), shared: false },
    ...RECIPES_OF[answers.report].map((name) => ({
      path: join(own, `${name}.yaml`),
      text: reportYaml(RECIPES[name], { ...answers, report: name, folder: 'out' }, catalog),
      shared: false,
    })),
    { path: join(jobs, 'org.schema.json'), text: json(orgJsonSchema()), shared: true },
    { path: join(jobs, 'report.schema.json'), text: json(reportJsonSchema(BUILT_IN_KINDS)), shared: true },
    { path: join(jobs, 'targets.schema.json'), text: json(targetsJsonSchema()), shared: true },
    { path: join(folder, 'docket.env'), text: envFile(answers), shared: true },
  ];
}

const secretRefYaml = (ref: SecretRef): string =>
  'env' in ref ? `env: ${scalar(ref.env)}` : `file: ${scalar(ref.file)}`;

function orgYaml({ name, serviceOrg, key, timezone, to, owner, allow }: Answers): string {
  const all = [...new Set([...to, owner])];
  const domains = [
    ...new Set(all.map((address) => canonicalDomain(address.slice(address.lastIndexOf('@') + 1)) ?? '')),
  ];
  // Some local parts are refused even in an allowed domain.
  const beside = allow === 'address' ? all : all.filter((to) => recipientRefusal(to, { addresses: [], domains }));
  return `# yaml-language-server: $schema=../org.schema.json
version: 1
${name === undefined ? '' : `name: ${scalar(name)}\n`}org: ${serviceOrg}                # the organization's number at the API, or current: the one of the API key
api_key:                    # a reference to the key, never the key itself
  ${secretRefYaml(key)}
timezone: ${scalar(timezone)}       # of periods and schedules
recipients:                 # only these may receive this organization's reports
${[
  ...(allow === 'domain'
    ? [`  domains:                  # every address of exactly these domains\n${yamlList(domains, '    ')}`]
    : []),
  ...(beside.length > 0
    ? [
        `  addresses:                # domains: [acme.example] would allow every address there\n${yamlList(beside, '    ')}`,
      ]
    : []),
].join('\n')}
destinations:               # where else reports may be delivered: hosts: [sftp.bank.example], buckets: [reports]
  folders: [out]
# secrets: { env: [ACME_*] } # the secrets that its reports may refer to
# locale: de-CH             # of numbers, dates and texts; default: en-GB
# readings: { metrics: [reviews.overdue] } # current counts to read every evening: the service has no history of them
# calendar: { country: CH } # business days, for "on" and "shift" of schedules
`;
}

function envFile({ url, key, smtpUrl, mailFrom, redisUrl }: Answers): string {
  const set = (name: string, value: string | undefined, otherwise: string) =>
    value === undefined ? `# ${name}=${otherwise}` : `${name}=${quoteForShell(value)}`;
  return `# Environment variables of docket, without secrets: this file may be stored with the definitions.
#   set -a; . ./docket.env; set +a        in a shell; or node --env-file, systemd's EnvironmentFile, docker --env-file
COMPLIANCE_API_URL=${quoteForShell(url)}
${'env' in key ? `# ${key.env} is the API key: export it from your secret store, not from this file.\n` : ''}
# For e-mail deliveries. A URL with a password is a secret: export it like the key.
${set('SMTP_URL', smtpUrl, 'smtp://mail.example.com:587')}
${set('MAIL_FROM', mailFrom, 'reports@example.com')}

# For docket start (not docket run): Redis with appendonly yes and maxmemory-policy noeviction.
${set('REDIS_URL', redisUrl, 'redis://127.0.0.1:6379')}
# DOCKET_SECRET_FOLDERS=/run/secrets      the folders that may contain secret files of reports
# DOCKET_ADMIN_TOKENS=tokens.yaml         tokens of the admin route: docket tokens create
`;
}
