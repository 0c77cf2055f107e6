import { join } from 'node:path';
import type { SecretRef } from '../../base/secrets/secret.ts';
import { balanceBidiControls, toSingleLine } from '../../base/text/bidi.ts';
import type { Catalog } from '../../contract/catalog.ts';
import { canonicalDomain, recipientRefusal } from '../../definitions/allow-lists/recipients.ts';
import { orgJsonSchema, reportJsonSchema, targetsJsonSchema } from '../../definitions/schema/json-schema.ts';
import { BUILT_IN_KINDS } from '../../services/definitions/built-in-kinds.ts';
import { type Answers, quoteForShell } from './answers.ts';
import { type StarterSection, starterSections } from './starter-sections.ts';
import { targetsYaml } from './starter-targets.ts';
import { scalar } from './yaml-scalar.ts';

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

const REPORT_ID = { weekly: 'weekly-kpi', monthly: 'board-pack' } as const;
type Kind = keyof typeof REPORT_ID;

const kindsOf = ({ report }: Pick<Answers, 'report'>): readonly Kind[] =>
  report === 'both' ? ['weekly', 'monthly'] : [report];

/** The names of the created reports, as `<org>/<report>`. */
export const reportNames = (answers: Answers): string[] =>
  kindsOf(answers).map((kind) => `${answers.org}/${REPORT_ID[kind]}`);

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
    ...kindsOf(answers).map((kind) => ({
      path: join(own, `${REPORT_ID[kind]}.yaml`),
      text: reportYaml(kind, answers, catalog),
      shared: false,
    })),
    { path: join(jobs, 'org.schema.json'), text: json(orgJsonSchema()), shared: true },
    { path: join(jobs, 'report.schema.json'), text: json(reportJsonSchema(BUILT_IN_KINDS)), shared: true },
    { path: join(jobs, 'targets.schema.json'), text: json(targetsJsonSchema()), shared: true },
    { path: join(folder, 'docket.env'), text: envFile(answers), shared: true },
  ];
}

const list = (items: readonly string[], indent: string): string =>
  items.map((item) => `${indent}- ${scalar(item)}`).join('\n');

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
    ? [`  domains:                  # every address of exactly these domains\n${list(domains, '    ')}`]
    : []),
  ...(beside.length > 0
    ? [`  addresses:                # domains: [acme.example] would allow every address there\n${list(beside, '    ')}`]
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

const TEXTS = {
  weekly: {
    title: 'Weekly compliance KPIs',
    file: 'Weekly KPIs',
    schedule: '{ cron: "0 8 * * MON", catch_up: latest }   # Mondays at eight, in the zone of org.yaml',
    period: 'previous_week',
    unit: 'weeks',
  },
  monthly: {
    title: 'Compliance board pack',
    file: 'Board pack',
    schedule: '{ cron: "0 7 1 * *", catch_up: all }        # the first of each month at seven, in the zone of org.yaml',
    period: 'previous_month',
    unit: 'months',
  },
} as const;

function reportYaml(kind: Kind, answers: Answers, catalog: Catalog | undefined): string {
  const { title, file, schedule, period, unit } = TEXTS[kind];
  const sections = starterSections(kind, catalog);
  return `# yaml-language-server: $schema=../report.schema.json
# All fields: README.md, "A report definition". After a change: docket check
version: 1
title: ${title}
owner: ${scalar(answers.owner)}   # notified once when a run fails permanently
schedule: ${schedule}
period: ${period}        # the days of the report; fixed when a run starts
compare: previous_period     # adds the figures of the previous period

sections:                    # a table each, in the workbook and in the e-mail
${sections.map((section) => sectionYaml(section, unit)).join('\n')}
outputs:
  - { format: xlsx, name: "${file} {{ period.label }}.xlsx" }
  # - { format: csv }        # raw values for programs, a file per section

deliveries:
  - email:
      to:                    # org.yaml must allow each of them
${list(answers.to, '        ')}
      subject: "${title} {{ period.label }}"
      attach: [xlsx]
  # - directory: { path: "out/${REPORT_ID[kind]}/{{ period.label }}" }

on_incomplete: flag          # if figures are missing: flag and deliver them, hold the run, or fail it
${otherMetrics(sections, catalog)}`;
}

/** What a scorecard may have besides, as comments. */
const scorecardYaml = (metrics: readonly string[], unit: string): string[] => [
  '    layout: scorecard        # a row for each metric; docs/layouts.md',
  `    # trend: 13              # a small chart of the last 13 ${unit} in each row`,
  '    # groups:                # metrics under subheadings',
  `    #   - { title: More, metrics: [${metrics.slice(-2).map(scalar).join(', ')}] }`,
];

function sectionYaml(section: StarterSection, unit: string): string {
  const { dimensions, granularity, order, chart, toDate, layout, suggestion } = section;
  return [
    `  # ${section.why}`,
    `  - id: ${scalar(section.id)}`,
    `    title: ${scalar(section.title)}`,
    ...(layout === undefined ? [] : scorecardYaml(section.metrics, unit)),
    '    metrics:',
    list(section.metrics, '      '),
    ...(dimensions === undefined ? [] : ['    dimensions:', list(dimensions, '      ')]),
    ...(granularity === undefined ? [] : [`    granularity: ${granularity}`]),
    ...(order === undefined ? [] : [`    order: [{ by: ${scalar(order.by)}, dir: ${order.dir} }]`]),
    ...(section.totals ? ['    totals: true'] : []),
    ...(toDate === undefined ? [] : [`    to_date: ${toDate}            # and the figures from its first day on`]),
    ...(suggestion === undefined ? [] : [`    # ${suggestion}`]),
    ...(chart === undefined ? [] : [`    chart: ${chart}`]),
    '',
  ].join('\n');
}

const MAX_LISTED_METRICS = 100;

/** Further metrics of the key, as comments. Labels are foreign text: they must not end the comment. */
function otherMetrics(sections: readonly StarterSection[], catalog: Catalog | undefined): string {
  if (catalog === undefined) {
    return '\n# Written without the metric catalog: `docket check` reports metrics that your API key cannot read.\n';
  }
  const used = new Set(sections.flatMap(({ metrics }) => metrics));
  const others = catalog.metrics.filter(({ id, deprecated_at }) => !used.has(id) && deprecated_at == null);
  if (others.length === 0) return '';
  const lines = others
    .slice(0, MAX_LISTED_METRICS)
    .map(({ id, label }) => `#   ${oneLine(id).padEnd(46)} ${oneLine(label)}`.trimEnd());
  return `\n# More metrics of this API key (${catalog.metrics.length} in all):\n${lines.join('\n')}\n`;
}

const oneLine = (text: string): string =>
  balanceBidiControls(toSingleLine(text.replace(/\p{Cs}+/gu, ' ')).slice(0, 120));

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
