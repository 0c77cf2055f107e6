import { join, relative } from 'node:path';
import type { AppContext } from '../../base/context.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import type { SecretRef } from '../../base/secrets/secret.ts';
import { loadDefinitions } from '../../compose/built-in-kinds.ts';
import { checkDefinitions } from '../../compose/probes/definitions.ts';
import { diagnose } from '../../compose/probes/diagnose.ts';
import { type Finding, formatFinding } from '../../services/deployment/probe.ts';
import { createContext } from '../context.ts';
import { type Answers, isSecretSet, quoteForShell, secretSetupCommand } from '../init/answers.ts';
import { completeAnswers, type Draft, draftFromEnvironment, draftFromFlags, type InitFlags } from '../init/draft.ts';
import { createFiles, type InitPaths, reportNames } from '../init/files.ts';
import { queryService, type ServiceInfo } from '../init/query-service.ts';
import { assertNoExistingFiles, writeFiles } from '../init/write-files.ts';
import { type CommandIo, resolvePath } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';

export async function init(
  folder: string | undefined,
  flags: InitFlags & { readonly signingKey?: string; readonly lostKey?: string; readonly [option: string]: unknown },
  io: CommandIo,
): Promise<void> {
  if (flags.lostKey !== undefined && flags.signingKey === undefined) {
    throw new DocketError('usage.invalid', 'The option requires --signing-key.', {
      where: '--lost-key',
      next: 'Name the file of the lost key: --signing-key FILE --lost-key "REASON".',
    });
  }
  for (const { init: option } of io.features) {
    const path = option && flags[option.name];
    if (option !== undefined && typeof path === 'string') return option.run(resolvePath(path, io), flags, io);
  }
  if (flags.signingKey !== undefined) {
    const { initSigningKey } = await import('../init/signing-key.ts');
    return initSigningKey(resolvePath(flags.signingKey, io), flags, io);
  }
  const print = createPrinter(io);
  const context = await createContext(io);
  const draft = draftFromFlags(flags);
  const paths: InitPaths = {
    folder: resolvePath(folder ?? '.', io),
    jobs: folder === undefined ? context.config.DOCKET_JOBS : resolvePath(join(folder, 'jobs'), io),
  };
  // Fails before the first prompt if files exist. They are checked again before writing.
  if (draft.org !== undefined) await assertNoExistingFiles([], join(paths.jobs, draft.org));
  const interactive = !flags.yes && !flags.json && io.stdin.isTTY === true && io.stdout.isTTY === true;
  const signal = io.signals.stop();
  const { answers, service } = await prepare(draft, flags, { context, interactive, signal }, io).catch(
    (thrown: unknown) => {
      // During a prompt, Ctrl-C is a key, not a signal.
      if (toDocketError(thrown).code === 'run.cancelled') io.exitCode = 130;
      throw thrown;
    },
  );
  const created = createFiles(answers, service.catalog, paths);
  await assertNoExistingFiles(created, join(paths.jobs, answers.org));
  const { written, kept } = await writeFiles(created);
  if (!flags.json) {
    // Printed before the checks, which may be interrupted.
    for (const path of written) print.printLine(`written  ${path}`);
    for (const path of kept) print.printLine(`kept     ${path} (exists)`);
    for (const { message } of interactive ? [] : service.errors) print.printLine(`could not query: ${message}`);
    print.printLine();
  }
  const setup = await verifySetup(answers, service, { paths, context, offline: flags.offline ?? false, signal });
  if (flags.json) {
    print.printJson({ written, kept, reports: reportNames(answers), ...setup });
  } else {
    for (const finding of setup.findings) print.printLine(formatFinding(finding));
    print.printLine(`\nNext:\n${setup.next.map((command) => `  ${command}`).join('\n')}`);
  }
  io.exitCode = setup.findings.some(({ state }) => state === 'fail') ? 1 : 0;
}

/** Completes the flags with prompts, or with the environment and defaults. Throws `usage.invalid`, `run.cancelled`. */
async function prepare(
  flagsDraft: Draft,
  { offline }: InitFlags,
  { context, interactive, signal }: { context: AppContext; interactive: boolean; signal: AbortSignal },
  io: CommandIo,
): Promise<{ readonly answers: Answers; readonly service: ServiceInfo }> {
  const defaults = draftFromEnvironment(context.env);
  const query = async ({ url, key, serviceOrg = 'current' }: Draft): Promise<ServiceInfo> => {
    if (offline || url === undefined || key === undefined || !(await isSecretSet(key, context.env)))
      return { errors: [] };
    if (interactive) createPrinter(io).printStatus(`Querying ${url}`);
    const service = await queryService({ url, key, serviceOrg }, context, signal);
    // Files can be written without the service's data, but not after a signal.
    signal.throwIfAborted();
    return service;
  };
  if (!interactive) {
    const draft = withDefaults(flagsDraft, defaults);
    const service = await query(draft);
    const { url, key } = draft;
    if (!offline && url !== undefined && key !== undefined && !(await isSecretSet(key, context.env)))
      return { answers: completeAnswers(draft, { errors: [keyNotSet(key)] }), service };
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

const keyNotSet = (key: SecretRef): DocketError =>
  new DocketError('config.secret_missing', 'The API key is not set, so no request was made.', {
    expected: 'env' in key ? `the variable ${key.env}` : `the file ${key.file}`,
    next: `Set it: \`${secretSetupCommand(key).replace(/ {2,}#.*$/, '')}\`.`,
  });

/** Flags take precedence over the environment. */
const withDefaults = (draft: Draft, defaults: Draft): Draft => ({
  ...draft,
  url: draft.url ?? defaults.url,
  key: draft.key ?? defaults.key,
  smtpUrl: draft.smtpUrl ?? defaults.smtpUrl,
  mailFrom: draft.mailFrom ?? defaults.mailFrom,
  redisUrl: defaults.redisUrl,
});

interface SetupVerification {
  readonly findings: readonly Finding[];
  /** Shell commands to run next, each with a comment. */
  readonly next: readonly string[];
}

interface VerifySetupOptions {
  readonly paths: InitPaths;
  readonly context: AppContext;
  readonly offline: boolean;
  readonly signal: AbortSignal;
}

/** Checks the written files as `docket doctor` does with the variables of `docket.env`. */
async function verifySetup(
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
    : await diagnose(jobs, { ...context, config }, { fetchCatalogs: false, known, signal });
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
