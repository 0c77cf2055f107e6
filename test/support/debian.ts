import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const APT_LOCK = '/tmp/docket-tests-apt.lock';

/** Installs a package. If that is impossible, throws with the command to run: a test never skips a real tool silently. */
async function install(debianPackage: string, what: string): Promise<void> {
  const environment = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, maxBuffer: 64 * 1024 * 1024 };
  try {
    // One call at a time: apt refuses a second one, and another test file may be installing.
    await run('flock', [APT_LOCK, 'apt-get', 'update'], environment);
    await run('flock', [APT_LOCK, 'apt-get', 'install', '-y', '--no-install-recommends', debianPackage], environment);
  } catch (cause) {
    throw new Error(
      `${what} is needed: run \`apt-get install ${debianPackage}\` as root, or your system's equivalent`,
      { cause },
    );
  }
}

/** The path of a program. Installs the distribution's package if it is missing. */
export async function program(name: string, debianPackage: string): Promise<string> {
  const found = () =>
    run('which', [name]).then(
      ({ stdout }) => stdout.trim(),
      () => undefined,
    );
  const there = await found();
  if (there !== undefined) return there;
  await install(debianPackage, name);
  const installed = await found();
  if (installed === undefined) throw new Error(`${debianPackage} is installed and has no ${name}`);
  return installed;
}

/** Installs fonts with the same widths as Excel's. With others, texts take more lines, and packs more pages. */
export async function officeFonts(): Promise<void> {
  const fonts = [
    { family: 'Calibri', files: /carlito|calibri/i, debianPackage: 'fonts-crosextra-carlito' },
    { family: 'Arial', files: /liberation|arial|arimo/i, debianPackage: 'fonts-liberation' },
  ];
  for (const { family, files, debianPackage } of fonts) {
    const { stdout } = await run(await program('fc-match', 'fontconfig'), [family, 'file']);
    if (!files.test(stdout)) await install(debianPackage, `a font as wide as ${family}`);
  }
}
