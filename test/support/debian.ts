import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const APT_LOCK = '/tmp/docket-tests-apt.lock';

/**
 * The path of a program, installed from the distribution's package when it is missing. A machine where that is not
 * possible fails the test, with the line to run: a real tool is never skipped silently.
 */
export async function program(name: string, debianPackage: string): Promise<string> {
  const found = () =>
    run('which', [name]).then(
      ({ stdout }) => stdout.trim(),
      () => undefined,
    );
  const there = await found();
  if (there !== undefined) return there;
  const environment = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, maxBuffer: 64 * 1024 * 1024 };
  try {
    // One at a time: apt refuses a second one, and another test file may be installing.
    await run('flock', [APT_LOCK, 'apt-get', 'update'], environment);
    await run('flock', [APT_LOCK, 'apt-get', 'install', '-y', '--no-install-recommends', debianPackage], environment);
  } catch (cause) {
    throw new Error(
      `${name} is needed: run \`apt-get install ${debianPackage}\` as root, or your system's equivalent`,
      { cause },
    );
  }
  const installed = await found();
  if (installed === undefined) throw new Error(`${debianPackage} is installed and has no ${name}`);
  return installed;
}
