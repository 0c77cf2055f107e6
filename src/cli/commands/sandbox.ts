import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DocketError, errorMessage } from '../../base/error.ts';
import { type Scope, withScope } from '../../base/scope.ts';
import type { MailCatcher } from '../../demo/mail-catcher.ts';
import { dump, parseFault, startSandbox } from '../../sandbox/sandbox.ts';
import { createContext } from '../context.ts';
import { type CommandIo, resolvePath } from '../io.ts';
import { parseInstant, parseNumber } from '../options/option-parsers.ts';
import { localZone } from '../terminal/local-times.ts';
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

/** The file only appears once it is complete. */
async function writeAtomically(file: string, lines: Iterable<string>): Promise<void> {
  const part = `${file}.${process.pid}.part`;
  try {
    await pipeline(Readable.from(lines), createWriteStream(part));
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

export async function sandbox(flags: SandboxFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const { clock, log } = await createContext(io);
  const seed = parseNumber('--seed', flags.seed, { min: 0, max: 2 ** 31 - 1 });
  const now =
    flags.now === undefined
      ? undefined
      : parseInstant('--now', flags.now, { now: clock.now(), zone: localZone(io.env) });
  if (flags.dump !== undefined) {
    await writeAtomically(resolvePath(flags.dump, io), dump({ seed, now: now ?? clock.now() }));
    print.printStatus(`events written to ${flags.dump}`);
    return;
  }
  await withScope(async (scope) => {
    const running = scope.add(
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
    );
    const mailPort = parseNumber('--mail-port', flags.mailPort, { min: 0, max: 65_535 });
    const companions = await startCompanions(flags, scope, mailPort, io);
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
        ...(companions.smtp_url ? [`SMTP_URL=${companions.smtp_url} MAIL_FROM=reports@acme.example`] : []),
        ...(companions.redis_url === undefined ? [] : [`REDIS_URL=${companions.redis_url}`]),
      ];
      print.printLine(`\nIn another terminal:\n${exports.map((line) => `  export ${line}`).join('\n')}`);
      print.printLine(
        '\nThen:  docket init        or, in this package:  docket run demo/weekly-kpi --no-deliver\nCtrl-C stops it.',
      );
    }
    const signal = io.signals.stop();
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  });
  // It runs until it is stopped, so a signal is the normal end.
  io.exitCode = 0;
}

/** The default of REDIS_URL, so that commands in other terminals find it without the variable. */
const REDIS_PORT = 6379;

/** Starts the services of `--mail` and `--redis`. */
async function startCompanions({ mail, redis }: SandboxFlags, scope: Scope, mailPort: number, io: CommandIo) {
  const smtp = mail === undefined ? undefined : scope.add(await startMailServer(resolvePath(mail, io), mailPort));
  const server = redis
    ? scope.add(
        await (await import('../../demo/local-redis.ts')).localRedis(
          io.env,
          createPrinter(io).printStatus,
          [],
          REDIS_PORT,
        ),
      )
    : undefined;
  return {
    ...(smtp === undefined ? {} : { smtp_url: smtp.url }),
    ...(server === undefined ? {} : { redis_url: server.url }),
  };
}

async function startMailServer(folder: string, port: number): Promise<MailCatcher> {
  const { createMailCatcher } = await import('../../demo/mail-catcher.ts');
  return createMailCatcher(folder, port).catch((cause: unknown) => {
    throw new DocketError('usage.invalid', `The mail server on port ${port} with folder ${folder} cannot be started.`, {
      expected: 'a free port, and a writable folder',
      got: errorMessage(cause),
      next: 'Choose another --mail-port, or 0 for any free port.',
      cause,
    });
  });
}
