import type { Command } from 'commander';
import type { Surroundings } from '../compose/ports.ts';
import type { Definition } from '../define/definition.ts';
import type { OrgSettings } from '../define/org.ts';
import type { RunOrder } from '../run/record.ts';
import type { RunResult } from '../run/result.ts';

interface PreviewFlags {
  readonly period?: string;
  readonly out?: string;
  readonly open?: boolean;
  readonly sample?: boolean;
  readonly json?: boolean;
}

export function addPreview(program: Command): void {
  program
    .command('preview')
    .description('Make a report’s e-mail and files to look at. Sends nothing')
    .argument('<report>', '<org>/<report>')
    .option('--period <period>', 'another period than the definition’s, e.g. previous_month, 2026-10')
    .option('--out <dir>', 'where everything goes; out/preview/<org>/<report>/<period> when absent')
    .option('--open', 'open the mail in the browser')
    .option('--sample', 'made-up figures from the sandbox: no call to the service, no key or password needed')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Without --sample it asks and costs what \`docket run --no-deliver\` does. Besides what a run leaves (files, mail.html and
mail.txt as they would be sent, the manifest) the folder gets preview.html: the mail with its pictures inside, for a browser.

Environment: DOCKET_JOBS, DOCKET_TEMPLATES, LOG_LEVEL; without --sample also COMPLIANCE_API_URL, REDIS_URL and the organization's secrets

Exit codes: 0 made; 1 failed; 2 usage or configuration

Examples:
  docket preview acme/weekly-kpi --sample --open
  docket preview acme/board-pack --period 2026-10 --out preview`,
    )
    .action(preview);
}

async function preview(report: string, flags: PreviewFlags): Promise<void> {
  const [
    { readSurroundings },
    { loadJobs, requireReport },
    { parsePeriod },
    { runInline },
    { onePage },
    { replaceFile },
    print,
    path,
  ] = await Promise.all([
    import('./surroundings.ts'),
    import('../define/load.ts'),
    import('../define/period.ts'),
    import('./inline.ts'),
    import('../render/one-page.ts'),
    import('../deliver/durable-file.ts'),
    import('./print.ts'),
    import('node:path'),
  ]);
  const around = readSurroundings();
  const jobs = await loadJobs(around.config.DOCKET_JOBS);
  const { definition, settings } = requireReport(jobs, report);
  const period = flags.period === undefined ? undefined : parsePeriod(flags.period);
  const source = flags.sample
    ? await fromSandbox(around, settings)
    : { around, settings, orgs: jobs.orgs, close: async () => {} };
  try {
    const { order, result, sealed } = await runInline(
      {
        definition: flags.sample ? unlocked(definition) : definition,
        settings: source.settings,
        ...('orgs' in source ? { orgs: source.orgs } : {}),
        period,
        out: ({ period: { label } }) => flags.out ?? `out/preview/${report}/${label}`,
        deliver: false,
      },
      source.around,
    );
    const page = path.join(result.folder, 'preview.html');
    await replaceFile(page, onePage(sealed.mail));
    if (flags.json) print.printJson(documentOf(order, result, page));
    else print.printLine(summaryOf(order, result, page));
    if (flags.open) await openInBrowser(page, print.sayLine);
  } finally {
    await source.close();
  }
}

/** Made-up figures need no password, and whoever looks at them may not have it. */
const unlocked = (definition: Definition): Definition => ({
  ...definition,
  outputs: definition.outputs.map((output) => {
    if (output.format !== 'xlsx') return output;
    const { password: _, ...open } = output;
    return open;
  }),
});

/** Of the sandbox and of our own budget, s: nobody shares this sandbox, so nothing has to wait for a minute. */
const SAMPLE_WINDOW = 1;

/** The same report against a sandbox of its own, which is gone with `close`. Mail and files say that it is a sample. */
async function fromSandbox(around: Surroundings, settings: OrgSettings) {
  const [{ startSandbox }, { DocketError }] = await Promise.all([
    import('../sandbox/sandbox.ts'),
    import('../base/error.ts'),
  ]);
  const sandbox = await startSandbox({ windowMs: SAMPLE_WINDOW * 1000 });
  const key = sandbox.keys.find(({ organizations }) => organizations.length === 1)?.key;
  if (key === undefined) throw new DocketError('internal.defect', 'The sandbox has no key for one organization.');
  const { REDIS_URL: _, ...env } = around.env;
  return {
    // Without the workers' Redis: its budgets are of keys that exist.
    around: {
      ...around,
      config: { ...around.config, COMPLIANCE_API_URL: sandbox.url },
      env: { ...env, DOCKET_SAMPLE_KEY: key },
    },
    settings: {
      ...settings,
      name: `${settings.name ?? settings.id} (sample figures)`,
      org: 'current' as const,
      api_key: { env: 'DOCKET_SAMPLE_KEY' },
      budget: { window: SAMPLE_WINDOW },
    },
    close: () => sandbox.close(),
  };
}

const OPENERS = { darwin: ['open'], win32: ['cmd', '/c', 'start', ''] } as const;

/** By the desktop's own program; where there is none, the path that was printed has to do. */
async function openInBrowser(page: string, say: (line: string) => void): Promise<void> {
  const { spawn } = await import('node:child_process');
  const [command, ...args] =
    process.platform === 'darwin' || process.platform === 'win32' ? OPENERS[process.platform] : ['xdg-open'];
  await new Promise<void>((resolve) => {
    const opener = spawn(command, [...args, page], { detached: true, stdio: 'ignore' });
    opener.once('error', () => {
      say(`No browser could be opened (${command}); open the file yourself.`);
      resolve();
    });
    opener.once('spawn', () => {
      opener.unref();
      resolve();
    });
  });
}

const mailFilesOf = ({ folder }: RunResult, page: string) => ({
  preview: page,
  html: `${folder}/mail.html`,
  text: `${folder}/mail.txt`,
});

/** What `--json` prints. Snake case, as the API and the manifest. */
const documentOf = (order: RunOrder, result: RunResult, page: string) => ({
  run: order.id,
  org: order.org,
  report: order.report,
  state: result.state,
  period: order.period,
  folder: result.folder,
  mail: mailFilesOf(result, page),
  files: result.files.map(({ name, format, path, bytes, sha256 }) => ({ name, format, path, bytes, sha256 })),
  incomplete: result.incomplete.map(({ section, code, text }) => ({ section, code, text })),
});

const summaryOf = (order: RunOrder, result: RunResult, page: string): string =>
  [
    `${order.org}/${order.report} ${order.period.label}: nothing was sent${result.state === 'held' ? '; a run would be held' : ''}`,
    ...result.incomplete.map(({ section, text }) => `  ! ${section}: ${text}`),
    ...Object.values(mailFilesOf(result, page)).map((path) => `  ${path}`),
    ...result.files.map(({ path }) => `  ${path}`),
  ].join('\n');
