import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A mistake in a file of definitions, at its position. Lines and columns count from 1, in UTF-16 code units. */
export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly expected: string;
  readonly got: string;
  /** What to do. */
  readonly next: string;
  readonly code?: string;
}

/** What `docket check --offline --json` finds. */
export interface CheckResult {
  /** Number of files that were read. */
  readonly files: number;
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
}

/**
 * Checks all definitions of a folder as `docket check --offline` does, in a process of its own: without API keys, Redis
 * or network. Rejects with an `Error` if the check cannot run, for example because of an invalid setting.
 *
 * @param folder the folder of definitions, as in `DOCKET_JOBS`
 * @param env other settings, for example `DOCKET_TEMPLATES`
 */
export async function checkDefinitions(
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Promise<CheckResult> {
  const main = fileURLToPath(new URL('../main.js', import.meta.url));
  const output = await new Promise<string>((resolve, reject) => {
    const args = [main, 'check', '--offline', '--json'];
    const options = { env: { ...env, DOCKET_JOBS: folder }, maxBuffer: 256 * 1024 * 1024 };
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      // 1: the definitions have errors, which the output lists.
      if (error === null || error.code === 1) resolve(stdout);
      else reject(new Error(stderr.trim() || error.message));
    });
  });
  const { error, files, faults, warnings } = JSON.parse(output);
  // Some errors of the check itself also have exit code 1.
  if (error !== undefined) throw new Error(error.message);
  return { files, errors: faults, warnings };
}
