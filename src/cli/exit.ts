import { type Command, CommanderError } from 'commander';
import { DocketError, formatError, toDocketError } from '../base/error.ts';
import { createRedactor, passwordsIn } from '../base/redactor.ts';
import { nearest } from '../define/nearest.ts';
import { onFatalError } from './fatal.ts';
import { inStyle } from './terminal.ts';

/**
 * Runs the program and sets the exit code: 0 done, 1 the run or check failed, 2 usage or configuration, 3 held or partly
 * delivered, 130 and 143 stopped by Ctrl-C and SIGTERM. An error is a few lines on stderr for the person who reads them, and with
 * `--json` also the one document on stdout; so is one that no code has caught, which ends the process with 1.
 */
export async function exitWith(program: Command, argv: readonly string[] = process.argv): Promise<void> {
  // `docket run … 2>&1 | head -1`: the reader has had enough. A run must not die of it amid its deliveries.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
  onFatalError(({ error, stack }) => reportFatal(error, stack, argv.includes('--json')));
  try {
    await program.parseAsync([...argv]);
  } catch (thrown) {
    const json = argv.includes('--json');
    if (!(thrown instanceof CommanderError)) return report(toDocketError(thrown), json);
    // Help and version were asked for, and are printed; help that nobody asked for is what a command without its rest answers.
    if (thrown.exitCode === 0) process.exitCode = 0;
    else if (thrown.code === 'commander.help') process.exitCode = 2;
    else report(usageError(thrown, program, argv.slice(2)), json);
  }
}

/** Nobody composed this error: it may quote a URL that something was about to use. */
function reportFatal(error: DocketError, stack: string | undefined, json: boolean): void {
  const { learn, redact } = createRedactor();
  for (const password of [process.env.REDIS_URL, process.env.SMTP_URL].flatMap((url) => passwordsIn(url ?? '')))
    learn(password);
  print(error, json, redact);
  if (stack !== undefined) process.stderr.write(`${redact(stack)}\n`);
}

function print(error: DocketError, json: boolean, redact = (text: string) => text): void {
  if (json) process.stdout.write(`${redact(JSON.stringify({ error: error.toJSON() }, null, 2))}\n`);
  process.stderr.write(`${inStyle('red', 'docket:', process.stderr)} ${redact(formatError(error))}\n`);
}

function report(error: DocketError, json: boolean): void {
  print(error, json);
  if (error.code === 'internal.defect' && error.cause instanceof Error)
    process.stderr.write(`${error.cause.stack ?? ''}\n`);
  // Somebody stopped the command: why its work failed then is the signal.
  const stopped = error.code === 'run.cancelled' || error.code === 'run.unfinished';
  if (!stopped || process.exitCode === undefined) process.exitCode = error.exitCode;
}

/** What commander says of wrong arguments, in the form of all other errors. */
function usageError({ code, message }: CommanderError, program: Command, words: readonly string[]): DocketError {
  const { command, name, rest } = commandOf(program, words);
  const next = `See \`${name} --help\`.`;
  const [wrong] = rest;
  // A group that lists by default takes a misspelt command for an argument of its list.
  if (code === 'commander.excessArguments' && command.commands.length > 0 && wrong !== undefined) {
    const names = command.commands.map((child) => child.name());
    const [near] = nearest(wrong, names, 1);
    const expected = near === undefined ? `one of ${names.join(', ')}` : `perhaps ${near}`;
    return new DocketError('usage.invalid', `Unknown command '${wrong}' of ${name}.`, { expected, next });
  }
  const [sentence = '', ...more] = message.replace(/^error: /, '').split('\n');
  const near = /\(Did you mean (?:one of )?(.+)\?\)/s.exec(more.join(' '))?.[1];
  const told = `${sentence.charAt(0).toUpperCase()}${sentence.slice(1).replace(/\.$/, '')}.`;
  return new DocketError('usage.invalid', told, {
    ...(near === undefined ? {} : { expected: `perhaps ${near}` }),
    next,
  });
}

/** The command that the arguments name, as far as they name one, and what follows it. */
function commandOf(program: Command, words: readonly string[]) {
  let [command, name, rest] = [program, program.name(), words];
  for (;;) {
    const [word, ...others] = rest;
    const next = command.commands.find((child) => child.name() === word);
    if (next === undefined) return { command, name, rest };
    [command, name, rest] = [next, `${name} ${word}`, others];
  }
}
