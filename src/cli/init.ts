import { type Command, Option } from 'commander';
import type { Answers } from './init/answers.ts';
import type { Draft, InitFlags } from './init/draft.ts';
import type { Places } from './init/files.ts';
import type { Seen } from './init/service.ts';

export function addInit(program: Command): void {
  program
    .command('init')
    .description(
      'Write a first organization and report, and try them: asks on a terminal, or takes everything as flags',
    )
    .argument('[folder]', 'where jobs/ and docket.env go; the working directory when absent')
    .option('--url <url>', 'the Compliance Service; COMPLIANCE_API_URL when absent')
    .addOption(
      new Option('--key-env <name>', 'environment variable that holds the API key (never the key itself)').conflicts(
        'keyFile',
      ),
    )
    .option('--key-file <path>', 'file that holds the API key')
    .option('--org <id>', 'short name of the organization, its folder; from its name at the service when absent')
    .option('--service-org <id>', 'its number at the service, or current: the organization of the key')
    .option('--timezone <zone>', 'IANA zone of periods and schedules; the machine’s when absent')
    .option('--to <address...>', 'who gets the reports')
    .addOption(
      new Option(
        '--allow <what>',
        'who may get reports at all: these addresses, or everybody of their domains',
      ).choices(['address', 'domain']),
    )
    .option('--owner <address>', 'who is told when a run has failed; the first recipient when absent')
    .addOption(new Option('--report <which>', 'which report to write').choices(['weekly', 'monthly', 'both']))
    .option('--smtp-url <url>', 'mail server, without a password; SMTP_URL when absent')
    .option('--mail-from <address>', 'sender; MAIL_FROM when absent')
    .option('--signing-key <file>', 'instead: make the key that signs the archive, or put a new one in its place')
    .option('--yes', 'ask nothing: what no flag says is as by default')
    .option('--offline', 'do not ask the service: safe sections, and no trial')
    .option('--json', 'one JSON document on stdout; asks nothing')
    .addHelpText(
      'after',
      `
Asks the service which organizations the key reaches and for its metric catalog (one metrics call), and writes sections
that this key can have. Replaces no file: all of them are written, or none. No secret is written anywhere.
Then everything is tried as \`docket doctor\` does.

Environment: COMPLIANCE_API_URL, REDIS_URL, SMTP_URL, MAIL_FROM, LOG_LEVEL; the variable of --key-env

Exit codes: 0 written and tried; 1 written, but something fails; 2 usage or configuration

Examples:
  docket init
  docket init --to lead@acme.example --report both --yes
  docket init --signing-key /etc/docket/signing.pem
  docket init /srv/reports --url https://api.example.com --key-env ACME_API_KEY --org acme --timezone Europe/Zurich \\
    --to lead@acme.example --allow domain --report weekly --yes`,
    )
    .action(init);
}

async function init(folder: string | undefined, flags: InitFlags & { readonly signingKey?: string }): Promise<void> {
  if (flags.signingKey !== undefined) {
    const { initSigningKey } = await import('./init/signing-key.ts');
    return initSigningKey(flags.signingKey, flags);
  }
  const [
    { join },
    { toDocketError },
    { abortOnSignal, readSurroundings },
    { complete, draftOf, fromEnvironment },
    service,
    files,
    write,
    print,
  ] = await Promise.all([
    import('node:path'),
    import('../base/error.ts'),
    import('./surroundings.ts'),
    import('./init/draft.ts'),
    import('./init/service.ts'),
    import('./init/files.ts'),
    import('./init/write.ts'),
    import('./print.ts'),
  ]);
  const { isSet } = await import('./init/answers.ts');
  const around = readSurroundings();
  const given = draftOf(flags);
  const offered = fromEnvironment(around.env);
  const places: Places = {
    folder: folder ?? '.',
    jobs: folder === undefined ? around.config.DOCKET_JOBS : join(folder, 'jobs'),
  };
  // Before anything is asked, and again when it is written.
  if (given.org !== undefined) await write.refuseExisting([], join(places.jobs, given.org));
  const asking = !flags.yes && !flags.json && process.stdin.isTTY === true && process.stdout.isTTY === true;
  const signal = abortOnSignal();
  const look = async ({ url, key, serviceOrg = 'current' }: Draft): Promise<Seen> => {
    if (flags.offline || url === undefined || key === undefined || !(await isSet(key, around.env)))
      return { faults: [] };
    if (asking) print.sayLine(`Asking ${url} what the key may have`);
    const seen = await service.askService({ url, key, serviceOrg }, around, signal);
    // What cannot be known is no reason to write nothing; that somebody stopped it is.
    signal.throwIfAborted();
    return seen;
  };

  const asked = async (): Promise<{ readonly answers: Answers; readonly seen: Seen }> => {
    const ask = await import('./init/ask.ts');
    const place = await ask.askPlace(given, offered, around.env);
    const first = await look(place);
    const chosen = await ask.askOrganization(place, first);
    const { organizations } = first;
    const seen =
      chosen.serviceOrg === place.serviceOrg
        ? first
        : { ...(await look(chosen)), ...(organizations && { organizations }) };
    return {
      answers: complete({ ...(await ask.askRest(chosen, seen, offered)), redisUrl: offered.redisUrl }, seen),
      seen,
    };
  };
  const told = async (): Promise<{ readonly answers: Answers; readonly seen: Seen }> => {
    const draft = withDefaults(given, offered);
    const seen = await look(draft);
    return { answers: complete(draft, seen), seen };
  };
  const { answers, seen } = await (asking ? asked() : told()).catch((thrown: unknown) => {
    // While a question stands, the terminal makes no signal of Ctrl-C.
    if (toDocketError(thrown).code === 'run.cancelled') process.exitCode = 130;
    throw thrown;
  });
  const made = files.filesFor(answers, seen.catalog, places);
  await write.refuseExisting(made, join(places.jobs, answers.org));
  const { written, kept } = await write.writeAll(made);
  if (!flags.json) {
    // Before everything is tried: whoever stops that knows what is there.
    for (const path of written) print.printLine(`written  ${path}`);
    for (const path of kept) print.printLine(`kept     ${path}, which was there`);
    for (const { message } of asking ? [] : seen.faults) print.printLine(`not asked: ${message}`);
    print.printLine();
  }
  const { proveInit } = await import('./init/prove.ts');
  const proof = await proveInit(answers, seen, { places, around, offline: flags.offline ?? false, signal });
  if (flags.json) {
    print.printJson({ written, kept, reports: files.reportNames(answers), ...proof });
  } else {
    const { findingLines } = await import('./doctor.ts');
    for (const finding of proof.findings) print.printLine(findingLines(finding));
    print.printLine(`\nNext:\n${proof.next.map((command) => `  ${command}`).join('\n')}`);
  }
  process.exitCode = proof.findings.some(({ state }) => state === 'fail') ? 1 : 0;
}

/** A flag before the environment. */
const withDefaults = (given: Draft, offered: Draft): Draft => ({
  ...given,
  url: given.url ?? offered.url,
  key: given.key ?? offered.key,
  smtpUrl: given.smtpUrl ?? offered.smtpUrl,
  mailFrom: given.mailFrom ?? offered.mailFrom,
  redisUrl: offered.redisUrl,
});
