import { type Command, Option } from 'commander';

interface SandboxFlags {
  readonly host: string;
  readonly port: string;
  readonly seed: string;
  readonly now?: string;
  readonly window: string;
  readonly limiter: 'sliding' | 'fixed' | 'token-bucket';
  readonly fault?: string[];
  readonly dump?: string;
  readonly json?: boolean;
}

export function addSandbox(program: Command): void {
  program
    .command('sandbox')
    .description('Run the Compliance Service’s sandbox alone; prints its URL and keys')
    .option('--host <host>', 'address to listen on', '127.0.0.1')
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
    .option('--json', 'print the URL and the keys as one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  docket sandbox                                  the service on http://127.0.0.1:8600
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
  const [{ readSurroundings, abortOnSignal }, { dump, parseFault, startSandbox }, print, { readInstant, readNumber }] =
    await Promise.all([
      import('./surroundings.ts'),
      import('../sandbox/sandbox.ts'),
      import('./print.ts'),
      import('./flag.ts'),
    ]);
  const { clock, log } = readSurroundings();
  const seed = readNumber('--seed', flags.seed, { min: 0, max: 2 ** 31 - 1 });
  const now = flags.now === undefined ? undefined : readInstant('--now', flags.now);
  if (flags.dump !== undefined) {
    await writeWhole(flags.dump, dump({ seed, now: now ?? clock.now() }));
    print.sayLine(`events written to ${flags.dump}`);
    return;
  }
  const running = await startSandbox({
    host: flags.host,
    port: readNumber('--port', flags.port, { min: 0, max: 65_535 }),
    seed,
    ...(now === undefined ? {} : { now }),
    windowMs: readNumber('--window', flags.window, { min: 0.001, max: 86_400, fraction: true }) * 1000,
    limiter: flags.limiter,
    faults: (flags.fault ?? []).map(parseFault),
    log,
  });
  const { url, organizations, keys } = running;
  if (flags.json) print.printJson({ url, organizations: organizations.map(({ id, name }) => ({ id, name })), keys });
  else {
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
        ['KEY', 'ORGANIZATIONS', 'WHAT'],
        keys.map(({ key, what, ...of }) => [key, of.organizations.join(', '), what]),
      ),
    );
    print.printLine(
      `\nTry:  export COMPLIANCE_API_URL=${url} DEMO_API_KEY=${keys.find(({ label }) => label === 'acme')?.key ?? ''}\n      docket run demo/weekly-kpi --no-deliver\nCtrl-C ends it.`,
    );
  }
  const signal = abortOnSignal();
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await running.close();
  // It runs until it is stopped: a signal is how it ends well.
  process.exitCode = 0;
}
