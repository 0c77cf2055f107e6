import type { Command } from 'commander';

export function addRunsGet(runs: Command): void {
  runs
    .command('get')
    .description('Copy exactly what a run made and sent out of the archive: files, e-mail, messages, receipts')
    .argument('<id>', 'the run')
    .option('--out <dir>', 'a folder that is not there yet, or empty; the run’s id when absent')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Every hash is computed anew; when one is another, nothing is copied. Needs no Redis.

Environment: DOCKET_ARCHIVE, LOG_LEVEL

Example:
  docket runs get 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --out /tmp/pack`,
    )
    .action(get);
}

async function get(id: string, flags: { readonly out?: string; readonly json?: boolean }): Promise<void> {
  const [{ resolve }, { readSurroundings }, { DocketError }, { withArchive }, { takeOut }, print] = await Promise.all([
    import('node:path'),
    import('./surroundings.ts'),
    import('../base/error.ts'),
    import('../compose/archive.ts'),
    import('../deliver/take-out.ts'),
    import('./print.ts'),
  ]);
  const folder = resolve(flags.out ?? id);
  const { run, files } = await withArchive(readSurroundings(), async ({ shelf }) => {
    const found = /^[0-9a-f]{32}$/.test(id) ? await shelf.find(id) : undefined;
    if (found === undefined) {
      throw new DocketError('run.not_found', `The archive has no run ${JSON.stringify(id)}.`, {
        where: shelf.place,
        expected: 'the id of a run that made files, 32 hex digits',
        next: '`docket runs` lists runs; DOCKET_ARCHIVE names the archive.',
      });
    }
    return { run: found, files: await takeOut(found, folder) };
  });
  if (flags.json) return print.printJson({ run: id, org: run.org, report: run.report, folder, files });
  print.printLine(`${files.length} files, each as it was sealed and sent, in ${folder}`);
  for (const { name, sha256 } of files) print.printLine(`  ${sha256}  ${name}`);
}
