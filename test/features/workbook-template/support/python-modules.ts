import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { program } from '../../../support/debian.ts';

const run = promisify(execFile);
/** The Python of the distribution: its packages do not work with another one. */
const PYTHON = '/usr/bin/python3';

/** Returns the path of a Python with these modules. Installs the distribution's packages if they are missing. */
export async function pythonModules(packages: Readonly<Record<string, string>>): Promise<string> {
  await program('python3', 'python3');
  const missing = async () =>
    run(PYTHON, ['-c', `import ${Object.keys(packages).join(', ')}`]).then(
      () => false,
      () => true,
    );
  if (!(await missing())) return PYTHON;
  const environment = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, maxBuffer: 64 * 1024 * 1024 };
  const names = Object.values(packages);
  try {
    await run('flock', ['/tmp/docket-tests-apt.lock', 'apt-get', 'update'], environment);
    const install = ['apt-get', 'install', '-y', '--no-install-recommends', ...names];
    await run('flock', ['/tmp/docket-tests-apt.lock', ...install], environment);
  } catch (cause) {
    throw new Error(`Run \`apt-get install ${names.join(' ')}\` as root, or your system's equivalent`, { cause });
  }
  return PYTHON;
}
