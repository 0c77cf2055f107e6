import { type Command, Option } from 'commander';
import type { AppContext } from '../../base/context.ts';
import type { Answers } from '../init/answers.ts';
import type { Draft, InitFlags } from '../init/draft.ts';
import type { InitPaths } from '../init/files.ts';
import type { ServiceInfo } from '../init/query-service.ts';
import { type CommandIo, resolvePath } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';

export function addInitCommand(program: Command, io: CommandIo): void {
  program
    .command('init')
    .description(
      'Create a first organization and report, and check them: prompts on a terminal, or takes everything as flags',
    )
    .argument('[folder]', 'where jobs/ and docket.env are written; default: the working directory')
    .option('--url <url>', 'URL of the Compliance Service; default: COMPLIANCE_API_URL')
    .addOption(
      new Option('--key-env <name>', 'environment variable that contains the API key (never the key itself)').conflicts(
        'keyFile',
      ),
    )
    .option('--key-file <path>', 'file that contains the API key')
    .option('--org <id>', 'short name of the organization, its folder; default: from its name at the service')
    .option('--service-org <id>', 'its number at the service, or current: the organization of the key')
    .option('--timezone <zone>', 'IANA zone of periods and schedules; default: the zone of this machine')
    .option('--to <address...>', 'recipients of the reports')
    .addOption(
      new Option('--allow <what>', 'allowed recipients: these addresses, or all addresses of their domains').choices([
        'address',
        'domain',
      ]),
    )
    .option('--owner <address>', 'who is notified when a run fails; default: the first recipient')
    .addOption(new Option('--report <which>', 'which report to write').choices(['weekly', 'monthly', 'both']))
    .option('--smtp-url <url>', 'mail server, without a password; default: SMTP_URL')
    .option('--mail-from <address>', 'sender; default: MAIL_FROM')
    .option('--signing-key <file>', 'instead: create the key that signs the archive, or rotate it')
    .option('--yes', 'do not prompt: use the defaults')
    .option('--offline', 'do not call the service: safe sections, and no checks')
    .option('--json', 'one JSON document on stdout; does not prompt')
    .addHelpText(
      'after',
      `
Lists the organizations that the key reaches, fetches their metric catalog (one metrics call), and writes sections that the
key may read. Overwrites no file: either all files are written, or none. Writes no secret.
Then it checks everything, as \`docket doctor\` does.

Environment: COMPLIANCE_API_URL, REDIS_URL, SMTP_URL, MAIL_FROM, LOG_LEVEL; the variable of --key-env

Exit codes: 0 written and checked; 1 written, but a check failed; 2 usage or configuration

Examples:
  docket init
  docket init --to lead@acme.example --report both --yes
  docket init --signing-key /etc/docket/signing.pem
  docket init /srv/reports --url https://api.example.com --key-env ACME_API_KEY --org acme --timezone Europe/Zurich \\
    --to lead@acme.example --allow domain --report weekly --yes`,
    )
    .action((folder: string | undefined, flags: InitFlags & { readonly signingKey?: string }) =>
      init(folder, flags, io),
    );
}

/** The answers, and what the service reported for their key. */
interface Prepared {
  readonly answers: Answers;
  readonly service: ServiceInfo;
}

async function init(
  folder: string | undefined,
  flags: InitFlags & { readonly signingKey?: string },
  io: CommandIo,
): Promise<void> {
  if (flags.signingKey !== undefined) {
    const { initSigningKey } = await import('../init/signing-key.ts');
    return initSigningKey(resolvePath(flags.signingKey, io), flags, io);
  }
  const print = createPrinter(io);
  const [{ join }, { toDocketError }, { createContext }, { draftFromFlags }, files, write, { verifySetup }] =
    await Promise.all([
      import('node:path'),
      import('../../base/error.ts'),
      import('../context.ts'),
      import('../init/draft.ts'),
      import('../init/files.ts'),
      import('../init/write-files.ts'),
      import('../init/verify.ts'),
    ]);
  const context = createContext(io);
  const draft = draftFromFlags(flags);
  const paths: InitPaths = {
    folder: resolvePath(folder ?? '.', io),
    jobs: folder === undefined ? context.config.DOCKET_JOBS : resolvePath(join(folder, 'jobs'), io),
  };
  // Before the first prompt; checked again before writing.
  if (draft.org !== undefined) await write.assertNoExistingFiles([], join(paths.jobs, draft.org));
  const interactive = !flags.yes && !flags.json && io.stdin.isTTY === true && io.stdout.isTTY === true;
  const signal = io.signals.stop();
  const { answers, service } = await prepare(draft, flags, { context, interactive, signal }, io).catch(
    (thrown: unknown) => {
      // During a prompt, Ctrl-C is a key, not a signal.
      if (toDocketError(thrown).code === 'run.cancelled') io.exitCode = 130;
      throw thrown;
    },
  );
  const created = files.createFiles(answers, service.catalog, paths);
  await write.assertNoExistingFiles(created, join(paths.jobs, answers.org));
  const { written, kept } = await write.writeFiles(created);
  if (!flags.json) {
    // Before the checks, which may be interrupted.
    for (const path of written) print.printLine(`written  ${path}`);
    for (const path of kept) print.printLine(`kept     ${path} (exists)`);
    for (const { message } of interactive ? [] : service.errors) print.printLine(`could not query: ${message}`);
    print.printLine();
  }
  const setup = await verifySetup(answers, service, { paths, context, offline: flags.offline ?? false, signal });
  if (flags.json) {
    print.printJson({ written, kept, reports: files.reportNames(answers), ...setup });
  } else {
    const { formatFinding } = await import('./doctor.ts');
    for (const finding of setup.findings) print.printLine(formatFinding(finding));
    print.printLine(`\nNext:\n${setup.next.map((command) => `  ${command}`).join('\n')}`);
  }
  io.exitCode = setup.findings.some(({ state }) => state === 'fail') ? 1 : 0;
}

/** Completes the flags: by prompts, or by the environment and defaults. Throws `usage.invalid`, `run.cancelled`. */
async function prepare(
  flagsDraft: Draft,
  { offline }: InitFlags,
  { context, interactive, signal }: { context: AppContext; interactive: boolean; signal: AbortSignal },
  io: CommandIo,
): Promise<Prepared> {
  const [{ isSecretSet }, { completeAnswers, draftFromEnvironment }, { queryService }] = await Promise.all([
    import('../init/answers.ts'),
    import('../init/draft.ts'),
    import('../init/query-service.ts'),
  ]);
  const defaults = draftFromEnvironment(context.env);
  const query = async ({ url, key, serviceOrg = 'current' }: Draft): Promise<ServiceInfo> => {
    if (offline || url === undefined || key === undefined || !(await isSecretSet(key, context.env)))
      return { errors: [] };
    if (interactive) createPrinter(io).printStatus(`Querying ${url}`);
    const service = await queryService({ url, key, serviceOrg }, context, signal);
    // Files are written without the service's data, but not after a signal.
    signal.throwIfAborted();
    return service;
  };
  if (!interactive) {
    const draft = withDefaults(flagsDraft, defaults);
    const service = await query(draft);
    return { answers: completeAnswers(draft, service), service };
  }
  const prompts = await import('../init/prompts.ts');
  const streams = { input: io.stdin, output: io.stdout };
  const known = await prompts.promptService(flagsDraft, defaults, context.env, streams);
  const first = await query(known);
  const chosen = await prompts.promptOrganization(known, first, streams);
  const { organizations } = first;
  const service =
    chosen.serviceOrg === known.serviceOrg
      ? first
      : { ...(await query(chosen)), ...(organizations && { organizations }) };
  const complete = await prompts.promptRemaining(chosen, service, defaults, streams);
  return { answers: completeAnswers({ ...complete, redisUrl: defaults.redisUrl }, service), service };
}

/** Flags take precedence over the environment. */
const withDefaults = (draft: Draft, defaults: Draft): Draft => ({
  ...draft,
  url: draft.url ?? defaults.url,
  key: draft.key ?? defaults.key,
  smtpUrl: draft.smtpUrl ?? defaults.smtpUrl,
  mailFrom: draft.mailFrom ?? defaults.mailFrom,
  redisUrl: defaults.redisUrl,
});
