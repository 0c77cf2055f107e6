import { join } from 'node:path';
import { BUILT_IN_KINDS } from '../../compose/built-in-kinds.ts';
import type { Catalog } from '../../contract/catalog.ts';
import { canonicalDomain, recipientRefusal } from '../../definitions/allow-lists/recipients.ts';
import { orgJsonSchema, reportJsonSchema, targetsJsonSchema } from '../../definitions/schema/json-schema.ts';
import { fillLines, type RecipeName, readRecipe } from '../recipes/recipe.ts';
import { reportYaml } from '../recipes/report-yaml.ts';
import { scalar, targetsYaml } from '../recipes/suggested-targets.ts';
import { type Answers, quoteForShell, type StarterReport } from './answers.ts';

export interface NewFile {
  readonly path: string;
  readonly text: string;
  /** Whether all organizations share it. An existing shared file is kept. */
  readonly shared: boolean;
}

export interface InitPaths {
  /** The folder that contains `docket.env`. */
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

/** All files that `docket init` writes, from the answers and the key's catalog. They contain no secrets. */
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
      text: reportYaml(name, { ...answers, report: name, folder: 'out' }, catalog).text,
      shared: false,
    })),
    { path: join(jobs, 'org.schema.json'), text: json(orgJsonSchema()), shared: true },
    { path: join(jobs, 'report.schema.json'), text: json(reportJsonSchema(BUILT_IN_KINDS)), shared: true },
    { path: join(jobs, 'targets.schema.json'), text: json(targetsJsonSchema()), shared: true },
    { path: join(folder, 'docket.env'), text: envFile(answers), shared: true },
  ];
}

function orgYaml({ name, serviceOrg, key, timezone, to, owner, allow }: Answers): string {
  const all = [...new Set([...to, owner])];
  const domains = new Set(all.map((address) => canonicalDomain(address.slice(address.lastIndexOf('@') + 1)) ?? ''));
  const domain = allow === 'domain' ? [...domains] : [];
  // Some addresses are refused even in an allowed domain, because of the part before the @.
  const address = all.filter((to) => recipientRefusal(to, { addresses: [], domains: domain }));
  const scalars = (texts: readonly string[]) => texts.map((text) => scalar(text));
  return fillLines(readRecipe('org.yaml'), {
    name: scalars(name === undefined ? [] : [name]),
    org: [`${serviceOrg}`],
    key: ['env' in key ? `env: ${scalar(key.env)}` : `file: ${scalar(key.file)}`],
    timezone: [scalar(timezone)],
    domains: domain.length > 0 ? [''] : [],
    domain: scalars(domain),
    addresses: address.length > 0 ? [''] : [],
    address: scalars(address),
  });
}

function envFile({ url, key, smtpUrl, mailFrom, redisUrl }: Answers): string {
  const set = (name: string, value: string | undefined, otherwise: string) => [
    value === undefined ? `# ${name}=${otherwise}` : `${name}=${quoteForShell(value)}`,
  ];
  return fillLines(readRecipe('docket.env'), {
    url: [quoteForShell(url)],
    key: 'env' in key ? [key.env] : [],
    smtp: set('SMTP_URL', smtpUrl, 'smtp://mail.example.com:587'),
    from: set('MAIL_FROM', mailFrom, 'reports@example.com'),
    redis: set('REDIS_URL', redisUrl, 'redis://127.0.0.1:6379'),
  });
}
