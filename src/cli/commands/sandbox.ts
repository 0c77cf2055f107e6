import { type Command, Option } from 'commander';
import type { Scope } from '../../base/scope.ts';
import type { MailCatcher } from '../../demo/mail-catcher.ts';
import { type CommandIo, resolvePath } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';

interface SandboxFlags {
  readonly host: string;
  readonly port: string;
  readonly seed: string;
  readonly now?: string;
  readonly window: string;
  readonly limiter: 'sliding' | 'fixed' | 'token-bucket';
  readonly fault?: string[];
  readonly dump?: string;
  readonly mail?: string;
  readonly mailPort: string;
  readonly redis?: boolean;
  readonly json?: boolean;
}

export function addSandboxCommand(program: Command, io: CommandIo): void {
  program
    .command('sandbox')
    .description('Run the sandbox of the Compliance Service alone; prints its URL and keys')
    .option(
      '--host <host>',
      'address to listen on; any other than loopback shows the keys to everybody who reaches it',
      '127.0.0.1',
    )
    .option('--port <port>', 'port to listen on; 0: any free port', '8600')
    .option('--seed <n>', 'seed of the generated history and keys', '1')
    .option('--now <instant>', 'ISO instant at which the history ends; default: the current time')
    .option('--window <seconds>', 'length of the rate limit window; 60 at the real service', '60')
    .addOption(
      new Option('--limiter <algorithm>', 'rate limiting algorithm')
        .choices(['sliding', 'fixed', 'token-bucket'])
        .default('sliding'),
    )
    .option('--fault <fault...>', 'faults to serve, e.g. reset:0.1 or status=502:3')
    .option('--dump <file>', 'write the history as NDJSON and exit')
    .option('--mail <dir>', 'also run a mail server that stores each message as a file there')
    .option('--mail-port <port>', 'port of that mail server; 0: any free port', '1025')
    .option('--redis', 'also start a Redis, removed on exit; REDIS_URL if it is set')
    .option('--json', 'one JSON document on stdout: URL, organizations, keys and companion services')
    .addHelpText(
      'after',
      `
Environment: LOG_LEVEL; REDIS_URL with --redis

Exit codes: 0 it was stopped; 1 failed; 2 usage or configuration

Examples:
  docket sandbox                                  the service on http://127.0.0.1:8600
  docket sandbox --mail mailbox --redis           everything for a first report (docs/first-report.md)
  docket sandbox --port 0 --json                  for scripts: the document has the port
  docket sandbox --window 6 --limiter fixed       windows of six seconds, aligned to the clock
  docket sandbox --fault reset:0.1                resets every tenth connection
  docket sandbox --dump events.ndjson             all generated events, to recompute the metrics elsewhere`,
    )
    .action((flags: SandboxFlags) => sandbox(flags, io));
}

/** The file appears only when it is complete. */
async function writeAtomically(file: string, lines: Iterable<string>): Promise<void> {
  const [{ createWriteStream }, { rename, rm }, { Readable }, { pipeline }] = await Promise.all([
    import('node:fs'),
    import('node:fs/promises'),
    import('node:stream'),
    import('node:stream/promises'),
  ]);
  const part = `${file}.${process.pid}.part`;
  try {
    await pipeline(Readable.from(lines), createWriteStream(part));
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

async function sandbox(flags: SandboxFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [{ createContext }, { dump, parseFault, startSandbox }, { parseInstant, parseNumber }, { createScope }] =
    await Promise.all([
      import('../context.ts'),
      import('../../sandbox/sandbox.ts'),
      import('../options/option-parsers.ts'),
      import('../../base/scope.ts'),
    ]);
  const { clock, log } = createContext(io);
  const seed = parseNumber('--seed', flags.seed, { min: 0, max: 2 ** 31 - 1 });
  const now = flags.now === undefined ? undefined : parseInstant('--now', flags.now);
  if (flags.dump !== undefined) {
    await writeAtomically(resolvePath(flags.dump, io), dump({ seed, now: now ?? clock.now() }));
    print.printStatus(`events written to ${flags.dump}`);
    return;
  }
  const scope = createScope();
  try {
    const running = scope.use(
      await startSandbox({
        host: flags.host,
        port: parseNumber('--port', flags.port, { min: 0, max: 65_535 }),
        seed,
        ...(now === undefined ? {} : { now }),
        windowMs: parseNumber('--window', flags.window, { min: 0.001, max: 86_400, fraction: true }) * 1000,
        limiter: flags.limiter,
        faults: (flags.fault ?? []).map(parseFault),
        log,
      }),
      (opened) => opened.close(),
    );
    const companions = await startCompanions(
      flags,
      scope,
      parseNumber('--mail-port', flags.mailPort, { min: 0, max: 65_535 }),
      io,
    );
    const { url, organizations, keys } = running;
    if (flags.json) {
      const named = organizations.map(({ id, name }) => ({ id, name }));
      print.printJson({ url, organizations: named, keys, ...companions });
    } else {
      print.printLine(`Compliance Service sandbox on ${url}\n`);
      print.printTable(
        ['ID', 'ORGANIZATION'],
        organizations.map(({ id, name }) => [String(id), name]),
      );
      print.printLine();
      print.printTable(
        [{ name: 'KEY', whenNarrow: 'keep' }, 'ORGANIZATIONS', 'WHAT'],
        keys.map(({ key, organizations: reached, what }) => [key, reached.join(', '), what]),
      );
      if (flags.mail !== undefined)
        print.printLine(`\nE-mail is stored in ${flags.mail}/ and never leaves this machine.`);
      const exports = [
        `COMPLIANCE_API_URL=${url}`,
        `DEMO_API_KEY=${keys.find(({ label }) => label === 'acme')?.key ?? ''}`,
        ...(companions.smtp_url === undefined
          ? []
          : [`SMTP_URL=${companions.smtp_url} MAIL_FROM=reports@acme.example`]),
        ...(companions.redis_url === undefined ? [] : [`REDIS_URL=${companions.redis_url}`]),
      ];
      print.printLine(`\nIn another terminal:\n${exports.map((line) => `  export ${line}`).join('\n')}`);
      print.printLine(
        '\nThen:  docket init        or, in this package:  docket run demo/weekly-kpi --no-deliver\nCtrl-C stops it.',
      );
    }
    const signal = io.signals.stop();
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  } finally {
    await scope.close();
  }
  // It runs until it is stopped: a signal is the normal end.
  io.exitCode = 0;
}

/** The companion services of `--mail` and `--redis`. */
async function startCompanions(
  { mail, redis }: Pick<SandboxFlags, 'mail' | 'redis'>,
  scope: Scope,
  mailPort: number,
  io: CommandIo,
): Promise<{ readonly smtp_url?: string; readonly redis_url?: string }> {
  const smtp =
    mail === undefined
      ? undefined
      : scope.use(await startMailServer(resolvePath(mail, io), mailPort), (opened) => opened.close());
  const server = redis
    ? scope.use(
        await (await import('../../demo/local-redis.ts')).localRedis(io.env, createPrinter(io).printStatus),
        (opened) => opened.close(),
      )
    : undefined;
  return {
    ...(smtp === undefined ? {} : { smtp_url: smtp.url }),
    ...(server === undefined ? {} : { redis_url: server.url }),
  };
}

async function startMailServer(folder: string, port: number): Promise<MailCatcher> {
  const [{ createMailCatcher }, { DocketError, errorMessage }] = await Promise.all([
    import('../../demo/mail-catcher.ts'),
    import('../../base/error.ts'),
  ]);
  return createMailCatcher(folder, port).catch((cause: unknown) => {
    throw new DocketError('usage.invalid', `The mail server on port ${port} with folder ${folder} cannot be started.`, {
      expected: 'a free port, and a writable folder',
      got: errorMessage(cause),
      next: 'Choose another --mail-port, or 0 for any free port.',
      cause,
    });
  });
}
