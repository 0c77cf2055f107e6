import { type Command, Option } from 'commander';
import type { Scope } from '../base/scope.ts';
import type { MailCatcher } from '../demo/mail-catcher.ts';

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

export function addSandbox(program: Command): void {
  program
    .command('sandbox')
    .description('Run the Compliance Service’s sandbox alone; prints its URL and keys')
    .option(
      '--host <host>',
      'address to listen on; anything but this machine’s own shows the keys to whoever reaches it',
      '127.0.0.1',
    )
    .option('--port <port>', 'port to listen on; 0 takes a free one', '8600')
    .option('--seed <n>', 'the generated history and keys are the same for the same seed', '1')
    .option('--now <instant>', 'ISO instant at which the history ends; the real time when absent')
    .option('--window <seconds>', 'length of the rate window, which is a minute at the real service', '60')
    .addOption(
      new Option('--limiter <algorithm>', 'how calls are counted')
        .choices(['sliding', 'fixed', 'token-bucket'])
        .default('sliding'),
    )
    .option('--fault <fault...>', 'faults to serve, e.g. reset:0.1 or status=502:3')
    .option('--dump <file>', 'write the history as NDJSON and end')
    .option('--mail <dir>', 'catch e-mail as well: a mail server that keeps each message as a file there')
    .option('--mail-port <port>', 'port of that mail server; 0 takes a free one', '1025')
    .option('--redis', 'start a Redis as well, forgotten at the end; REDIS_URL where it is set')
    .option('--json', 'one JSON document on stdout: the URL, the organizations, the keys and what stands beside')
    .addHelpText(
      'after',
      `
Environment: LOG_LEVEL; REDIS_URL with --redis

Exit codes: 0 it was stopped; 1 failed; 2 usage or configuration

Examples:
  docket sandbox                                  the service on http://127.0.0.1:8600
  docket sandbox --mail mailbox --redis           all that a first report needs (docs/first-report.md)
  docket sandbox --port 0 --json                  for scripts: the document names the free port
  docket sandbox --window 6 --limiter fixed       ten times faster windows, counted by the clock
  docket sandbox --fault reset:0.1                every tenth connection is reset
  docket sandbox --dump events.ndjson             every generated event, to recompute the metrics elsewhere`,
    )
    .action(sandbox);
}

/** The file appears when it is complete. */
async function writeWhole(file: string, lines: Iterable<string>): Promise<void> {
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

async function sandbox(flags: SandboxFlags): Promise<void> {
  const [
    { readSurroundings, abortOnSignal },
    { dump, parseFault, startSandbox },
    print,
    { readInstant, readNumber },
    { createScope },
  ] = await Promise.all([
    import('./surroundings.ts'),
    import('../sandbox/sandbox.ts'),
    import('./print.ts'),
    import('./flag.ts'),
    import('../base/scope.ts'),
  ]);
  const { clock, log } = readSurroundings();
  const seed = readNumber('--seed', flags.seed, { min: 0, max: 2 ** 31 - 1 });
  const now = flags.now === undefined ? undefined : readInstant('--now', flags.now);
  if (flags.dump !== undefined) {
    await writeWhole(flags.dump, dump({ seed, now: now ?? clock.now() }));
    print.sayLine(`events written to ${flags.dump}`);
    return;
  }
  const scope = createScope();
  try {
    const running = scope.use(
      await startSandbox({
        host: flags.host,
        port: readNumber('--port', flags.port, { min: 0, max: 65_535 }),
        seed,
        ...(now === undefined ? {} : { now }),
        windowMs: readNumber('--window', flags.window, { min: 0.001, max: 86_400, fraction: true }) * 1000,
        limiter: flags.limiter,
        faults: (flags.fault ?? []).map(parseFault),
        log,
      }),
      (opened) => opened.close(),
    );
    const others = await besides(flags, scope, readNumber('--mail-port', flags.mailPort, { min: 0, max: 65_535 }));
    const { url, organizations, keys } = running;
    if (flags.json) {
      const named = organizations.map(({ id, name }) => ({ id, name }));
      print.printJson({ url, organizations: named, keys, ...others });
    } else {
      print.printLine(`Compliance Service sandbox on ${url}\n`);
      print.printLine(
        print.formatColumns(
          ['ID', 'ORGANIZATION'],
          organizations.map(({ id, name }) => [String(id), name]),
        ),
      );
      print.printLine();
      print.printLine(
        print.formatColumns(
          [{ name: 'KEY', narrow: 'whole' }, 'ORGANIZATIONS', 'WHAT'],
          keys.map(({ key, what, ...of }) => [key, of.organizations.join(', '), what]),
        ),
      );
      if (flags.mail !== undefined)
        print.printLine(`\nE-mail is kept in ${flags.mail}/; none of it leaves this machine.`);
      const exports = [
        `COMPLIANCE_API_URL=${url}`,
        `DEMO_API_KEY=${keys.find(({ label }) => label === 'acme')?.key ?? ''}`,
        ...(others.smtp_url === undefined ? [] : [`SMTP_URL=${others.smtp_url} MAIL_FROM=reports@acme.example`]),
        ...(others.redis_url === undefined ? [] : [`REDIS_URL=${others.redis_url}`]),
      ];
      print.printLine(`\nIn another terminal:\n${exports.map((line) => `  export ${line}`).join('\n')}`);
      print.printLine(
        '\nThen:  docket init        or, in this package:  docket run demo/weekly-kpi --no-deliver\nCtrl-C ends it.',
      );
    }
    const signal = abortOnSignal();
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  } finally {
    await scope.close();
  }
  // It runs until it is stopped: a signal is how it ends well.
  process.exitCode = 0;
}

/** What stands beside the service when it is asked for: where mail is caught, and a Redis. */
async function besides(
  { mail, redis }: Pick<SandboxFlags, 'mail' | 'redis'>,
  scope: Scope,
  mailPort: number,
): Promise<{ readonly smtp_url?: string; readonly redis_url?: string }> {
  const { sayLine } = await import('./print.ts');
  const smtp = mail === undefined ? undefined : scope.use(await catchMail(mail, mailPort), (opened) => opened.close());
  const server = redis
    ? scope.use(await (await import('../demo/redis.ts')).localRedis(process.env, sayLine), (opened) => opened.close())
    : undefined;
  return {
    ...(smtp === undefined ? {} : { smtp_url: smtp.url }),
    ...(server === undefined ? {} : { redis_url: server.url }),
  };
}

async function catchMail(folder: string, port: number): Promise<MailCatcher> {
  const [{ mailCatcher }, { DocketError }] = await Promise.all([
    import('../demo/mail-catcher.ts'),
    import('../base/error.ts'),
  ]);
  return mailCatcher(folder, port).catch((cause: unknown) => {
    throw new DocketError('usage.invalid', `No mail can be caught on port ${port} into ${folder}.`, {
      expected: 'a free port of this machine, and a folder that can be written',
      got: cause instanceof Error ? cause.message : String(cause),
      next: 'Choose another --mail-port, or 0 for a free one.',
      cause,
    });
  });
}
