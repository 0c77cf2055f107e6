import { join } from 'node:path';
import { stringify } from 'yaml';
import { closeDirections } from '../../base/bidi.ts';
import type { SecretRef } from '../../base/secret.ts';
import { singleLine } from '../../base/single-line.ts';
import type { Catalog } from '../../contract/catalog.ts';
import { canonicalDomain, recipientFault } from '../../define/recipients.ts';
import { orgJsonSchema, reportJsonSchema } from '../../define/schema.ts';
import { type Answers, quoteForShell } from './answers.ts';
import { type FirstSection, sectionsFor } from './sections.ts';

/** A file to be written. */
export interface NewFile {
  readonly path: string;
  readonly text: string;
  /** Not this organization's alone: one that is there already stays as it is. */
  readonly shared: boolean;
}

export interface Places {
  /** Where `docket.env` goes. */
  readonly folder: string;
  readonly jobs: string;
}

const REPORT_ID = { weekly: 'weekly-kpi', monthly: 'board-pack' } as const;
type Kind = keyof typeof REPORT_ID;

const kindsOf = ({ report }: Pick<Answers, 'report'>): readonly Kind[] =>
  report === 'both' ? ['weekly', 'monthly'] : [report];

/** The reports that will be there, as `<org>/<report>`. */
export const reportNames = (answers: Answers): string[] =>
  kindsOf(answers).map((kind) => `${answers.org}/${REPORT_ID[kind]}`);

/** Everything that `docket init` writes, from the answers and what the key's catalog has. Pure; no secret is among it. */
export function filesFor(answers: Answers, catalog: Catalog | undefined, places: Places): readonly NewFile[] {
  const { folder, jobs } = places;
  const own = join(jobs, answers.org);
  const json = (schema: unknown) => `${JSON.stringify(schema, null, 2)}\n`;
  return [
    { path: join(own, 'org.yaml'), text: orgYaml(answers), shared: false },
    ...kindsOf(answers).map((kind) => ({
      path: join(own, `${REPORT_ID[kind]}.yaml`),
      text: reportYaml(kind, answers, catalog),
      shared: false,
    })),
    { path: join(jobs, 'org.schema.json'), text: json(orgJsonSchema()), shared: true },
    { path: join(jobs, 'report.schema.json'), text: json(reportJsonSchema()), shared: true },
    { path: join(folder, 'docket.env'), text: envFile(answers), shared: true },
  ];
}

/** A text as YAML, in quotes only where it needs them. On one line whatever its length. A space that is none to YAML, such as U+00A0, may end it. */
const scalar = (text: string): string => stringify(text, { lineWidth: 0, blockQuote: false }).replace(/\n$/, '');

const list = (items: readonly string[], indent: string): string =>
  items.map((item) => `${indent}- ${scalar(item)}`).join('\n');

const refYaml = (ref: SecretRef): string => ('env' in ref ? `env: ${scalar(ref.env)}` : `file: ${scalar(ref.file)}`);

function orgYaml({ name, serviceOrg, key, timezone, to, owner, allow }: Answers): string {
  const all = [...new Set([...to, owner])];
  const domains = [
    ...new Set(all.map((address) => canonicalDomain(address.slice(address.lastIndexOf('@') + 1)) ?? '')),
  ];
  // A domain does not allow all that is written in front of it.
  const beside = allow === 'address' ? all : all.filter((to) => recipientFault(to, { addresses: [], domains }));
  return `# yaml-language-server: $schema=../org.schema.json
version: 1
${name === undefined ? '' : `name: ${scalar(name)}\n`}org: ${serviceOrg}                # the organization's number at the API, or current: the one of the API key
api_key:                    # where the key is, never the key itself
  ${refYaml(key)}
timezone: ${scalar(timezone)}       # of periods and schedules
recipients:                 # nobody else ever gets this organization's reports
${[
  ...(allow === 'domain'
    ? [`  domains:                  # every address of exactly these domains\n${list(domains, '    ')}`]
    : []),
  ...(beside.length > 0
    ? [`  addresses:                # domains: [acme.example] would allow every address there\n${list(beside, '    ')}`]
    : []),
].join('\n')}
destinations:               # where else they may be delivered to: hosts: [sftp.bank.example], buckets: [reports]
  folders: [out]
# secrets: { env: [ACME_*] } # the only secrets that its reports may refer to
# locale: de-CH             # numbers, dates and our words: en-GB when absent
# calendar: { country: CH } # business days, for "on" and "shift" of schedules
`;
}

const TEXTS = {
  weekly: {
    title: 'Weekly compliance KPIs',
    file: 'Weekly KPIs',
    schedule: '{ cron: "0 8 * * MON", catch_up: latest }   # Mondays at eight, in the zone of org.yaml',
    period: 'previous_week',
  },
  monthly: {
    title: 'Compliance board pack',
    file: 'Board pack',
    schedule: '{ cron: "0 7 1 * *", catch_up: all }        # the first of each month at seven, in the zone of org.yaml',
    period: 'previous_month',
  },
} as const;

function reportYaml(kind: Kind, answers: Answers, catalog: Catalog | undefined): string {
  const { title, file, schedule, period } = TEXTS[kind];
  const sections = sectionsFor(kind, catalog);
  return `# yaml-language-server: $schema=../report.schema.json
# Every word of this file: README.md, "A report definition". After a change: docket check
version: 1
title: ${title}
owner: ${scalar(answers.owner)}   # told once when a run has failed for good
schedule: ${schedule}
period: ${period}        # which days it is about; frozen when a run begins
compare: previous_period     # the figures of the period before, beside each one

sections:                    # one table each, in the workbook and in the e-mail
${sections.map(sectionYaml).join('\n')}
outputs:
  - { format: xlsx, name: "${file} {{ period.label }}.xlsx" }
  # - { format: csv }        # raw values for programs, a file for each section

deliveries:
  - email:
      to:                    # each of them has to be allowed by org.yaml
${list(answers.to, '        ')}
      subject: "${title} {{ period.label }}"
      attach: [xlsx]
  # - directory: { path: "out/${REPORT_ID[kind]}/{{ period.label }}" }

on_incomplete: flag          # figures are missing: flag them and deliver; or hold the pack; or fail the run
${otherMetrics(sections, catalog)}`;
}

function sectionYaml({ id, title, why, metrics, dimensions, granularity, order, totals, chart }: FirstSection): string {
  return [
    `  # ${why}`,
    `  - id: ${scalar(id)}`,
    `    title: ${scalar(title)}`,
    '    metrics:',
    list(metrics, '      '),
    ...(dimensions === undefined ? [] : ['    dimensions:', list(dimensions, '      ')]),
    ...(granularity === undefined ? [] : [`    granularity: ${granularity}`]),
    ...(order === undefined ? [] : [`    order: [{ by: ${scalar(order.by)}, dir: ${order.dir} }]`]),
    ...(totals ? ['    totals: true'] : []),
    ...(chart === undefined ? [] : [`    chart: ${chart}`]),
    '',
  ].join('\n');
}

const MOST_LISTED = 100;

/** What else the key could ask for, as comments. Labels are the service's: nothing in them may end the comment. */
function otherMetrics(sections: readonly FirstSection[], catalog: Catalog | undefined): string {
  if (catalog === undefined) {
    return '\n# Written without a look at the metric catalog: `docket check` says what your API key does not have.\n';
  }
  const used = new Set(sections.flatMap(({ metrics }) => metrics));
  const others = catalog.metrics.filter(({ id, deprecated_at }) => !used.has(id) && deprecated_at == null);
  if (others.length === 0) return '';
  const lines = others
    .slice(0, MOST_LISTED)
    .map(({ id, label }) => `#   ${oneLine(id).padEnd(46)} ${oneLine(label)}`.trimEnd());
  return `\n# What else this API key can ask for (${catalog.metrics.length} metrics in all):\n${lines.join('\n')}\n`;
}

const oneLine = (text: string): string => closeDirections(singleLine(text.replace(/\p{Cs}+/gu, ' ')).slice(0, 120));

function envFile({ url, key, smtpUrl, mailFrom, redisUrl }: Answers): string {
  const set = (name: string, value: string | undefined, otherwise: string) =>
    value === undefined ? `# ${name}=${otherwise}` : `${name}=${quoteForShell(value)}`;
  return `# What docket needs of the environment, without secrets: this file may be kept with the definitions.
#   set -a; . ./docket.env; set +a        in a shell; or node --env-file, systemd's EnvironmentFile, docker --env-file
COMPLIANCE_API_URL=${quoteForShell(url)}
${'env' in key ? `# ${key.env} is the API key: export it from where you keep secrets; it is not for this file.\n` : ''}
# Needed by e-mail deliveries. A URL with a password is a secret too: export it, as the key.
${set('SMTP_URL', smtpUrl, 'smtp://mail.example.com:587')}
${set('MAIL_FROM', mailFrom, 'reports@example.com')}

# Needed by docket start (not by docket run): Redis with appendonly yes and maxmemory-policy noeviction.
${set('REDIS_URL', redisUrl, 'redis://127.0.0.1:6379')}
# DOCKET_SECRET_FOLDERS=/run/secrets      the only folders that reports' secret files may be in
# DOCKET_ADMIN_TOKENS=tokens.yaml         who may use the admin route: docket tokens create
`;
}
