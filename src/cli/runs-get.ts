import type { Command } from 'commander';

export function addRunsGet(runs: Command): void {
  runs
    .command('get')
    .description('Copy exactly what a run made and sent out of the archive: files, e-mail, messages, receipts')
    .argument('<id>', 'the run: its id, or the first 8 digits or more')
    .option('--out <dir>', 'a folder that is not there yet, or empty; the run’s id when absent')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Every hash is computed anew; when one is another, nothing is copied. Needs no Redis; the first digits of an id are found
faster with one.

Environment: DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, REDIS_URL, LOG_LEVEL

Example:
  docket runs get 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --out /tmp/pack`,
    )
    .action(get);
}

async function get(text: string, flags: { readonly out?: string; readonly json?: boolean }): Promise<void> {
  const [{ resolve }, { readSurroundings }, { DocketError }, { withArchive }, { takeOut }, { keptRunId }, print] =
    await Promise.all([
      import('node:path'),
      import('./surroundings.ts'),
      import('../base/error.ts'),
      import('../compose/archive.ts'),
      import('../deliver/take-out.ts'),
      import('./run-id.ts'),
      import('./print.ts'),
    ]);
  const around = readSurroundings();
  const id = await keptRunId(around, text);
  const folder = resolve(flags.out ?? id ?? '.');
  const { run, files } = await withArchive(around, async ({ shelf, signing }) => {
    const found = id === undefined ? undefined : await shelf.find(id);
    if (found === undefined) {
      throw new DocketError('run.not_found', `The archive has no run ${JSON.stringify(text)}.`, {
        where: shelf.place,
        expected: 'the id of a run that made files, or its first 8 digits or more',
        next: '`docket runs` lists runs; DOCKET_ARCHIVE names the archive.',
      });
    }
    // A run that was changed together with its hashes agrees with itself.
    await signing?.check(found);
    return { run: found, files: await takeOut(found, folder) };
  });
  if (flags.json) return print.printJson({ run: run.id, org: run.org, report: run.report, folder, files });
  print.printLine(`${files.length} files, each as it was sealed and sent, in ${folder}`);
  for (const { name, sha256 } of files) print.printLine(`  ${sha256}  ${name}`);
}
