import { type Command, CommanderError } from 'commander';
import { DocketError, formatError, toDocketError } from '../base/error.ts';
import { createRedactor, passwordsIn } from '../base/secrets/redactor.ts';
import { closestMatches } from '../definitions/diagnostics/suggest.ts';
import { type CommandIo, logsAsText } from './io.ts';
import { applyStyle, terminalWidth } from './terminal/style.ts';
import { wrapText } from './terminal/wrap.ts';

/**
 * Runs a command and returns its exit code: 0 done, 1 the run or check failed, 2 usage or configuration, 3 held or
 * partly delivered, 130 and 143 stopped by Ctrl-C and SIGTERM. Prints errors on stderr as text, and with `--json` also
 * on stdout as the only document. This includes uncaught errors, which end the process with 1. Errors of `docket start`
 * go to its log.
 *
 * @param args without the program's name
 */
export async function runProgram(program: Command, args: readonly string[], io: CommandIo): Promise<number> {
  const json = args.includes('--json');
  io.onFatalError(({ error, stack }) => printFatalError(error, stack, json, io));
  try {
    await program.parseAsync([...args], { from: 'user' });
    return io.exitCode ?? 0;
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) return handleError(toDocketError(thrown), args, io);
    // Commander has already printed a requested help or version, and the help of a command without its subcommand.
    if (thrown.exitCode === 0) return 0;
    if (thrown.code === 'commander.help') return 2;
    return handleError(toUsageError(thrown, program, args), args, io);
  }
}

/** The error may quote a URL with a password, so it is redacted. */
function printFatalError(error: DocketError, stack: string | undefined, json: boolean, io: CommandIo): void {
  const { registerSecret, redact } = createRedactor();
  for (const password of [io.env.REDIS_URL, io.env.SMTP_URL].flatMap((url) => passwordsIn(url ?? '')))
    registerSecret(password);
  printError(error, json, io, redact);
  if (stack !== undefined) io.stderr.write(`${redact(stack)}\n`);
}

function printError(error: DocketError, json: boolean, io: CommandIo, redact = (text: string) => text): void {
  const { stdout, stderr, env } = io;
  if (json) stdout.write(`${redact(JSON.stringify({ error: error.toJSON() }, null, 2))}\n`);
  const text = wrapText(
    `${applyStyle('red', 'docket:', stderr, env)} ${redact(formatError(error))}`,
    terminalWidth(stderr, env),
  );
  stderr.write(`${text}\n`);
}

async function handleError(error: DocketError, args: readonly string[], io: CommandIo): Promise<number> {
  if (args[0] === 'start' && !logsAsText(io)) {
    // Imported late, because only few commands use the log.
    const { stderrLog } = await import('../base/log.ts');
    const { redact } = createRedactor();
    const log = stderrLog('error', { redact, ...(io.writeLog === undefined ? {} : { write: io.writeLog }) });
    const stack = error.code === 'internal.defect' && error.cause instanceof Error ? error.cause.stack : undefined;
    log.error('docket start ends with an error', { error: error.toJSON(), ...(stack && { why: stack }) });
    return error.exitCode;
  }
  printError(error, args.includes('--json'), io);
  if (error.code === 'internal.defect' && error.cause instanceof Error) io.stderr.write(`${error.cause.stack ?? ''}\n`);
  // If a signal stopped the command, it has already set the exit code.
  const stopped = error.code === 'run.cancelled' || error.code === 'run.unfinished';
  return stopped && io.exitCode !== undefined ? io.exitCode : error.exitCode;
}

/** Converts commander's message about wrong arguments to the form of all other errors. */
function toUsageError({ code, message }: CommanderError, program: Command, args: readonly string[]): DocketError {
  const { command, name, rest } = findCommand(program, args);
  const next = `See \`${name} --help\`.`;
  const [wrong] = rest;
  // A group with a default command treats a misspelt subcommand as an argument of the default.
  if (code === 'commander.excessArguments' && command.commands.length > 0 && wrong !== undefined) {
    const names = command.commands.map((child) => child.name());
    const [suggestion] = closestMatches(wrong, names, 1);
    const expected = suggestion === undefined ? `one of ${names.join(', ')}` : `perhaps ${suggestion}`;
    return new DocketError('usage.invalid', `Unknown command '${wrong}' of ${name}.`, { expected, next });
  }
  const [sentence = '', ...more] = message.replace(/^error: /, '').split('\n');
  const suggestion = /\(Did you mean (?:one of )?(.+)\?\)/s.exec(more.join(' '))?.[1];
  const text = `${sentence.charAt(0).toUpperCase()}${sentence.slice(1).replace(/\.$/, '')}.`;
  return new DocketError('usage.invalid', text, {
    ...(suggestion === undefined ? {} : { expected: `perhaps ${suggestion}` }),
    next,
  });
}

/** Finds the command that the arguments name, its full name, and the arguments after it. */
function findCommand(program: Command, args: readonly string[]) {
  let [command, name, rest] = [program, program.name(), args];
  for (;;) {
    const [word, ...others] = rest;
    const next = command.commands.find((child) => child.name() === word);
    if (next === undefined) return { command, name, rest };
    [command, name, rest] = [next, `${name} ${word}`, others];
  }
}
