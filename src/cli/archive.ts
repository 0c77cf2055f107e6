import type { Command } from 'commander';
import type { Shelf } from '../deliver/shelf.ts';
import type { Bars } from './progress-bar.ts';

export function addArchive(program: Command): void {
  program
    .command('archive')
    .description('Look after the archive of what was sent')
    .command('verify')
    .description('Compute every hash of every archived run anew, and name each fault')
    .option('--org <org>', 'only of this organization')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Reads every byte of the archive: files, e-mails and the messages that left. Needs no Redis.

Environment: DOCKET_ARCHIVE, LOG_LEVEL

Exit codes: 0 all is as it was sealed and sent; 1 it is not; 2 usage or configuration

Example:
  docket archive verify --org acme`,
    )
    .action(verify);
}

async function verify(flags: { readonly org?: string; readonly json?: boolean }): Promise<void> {
  const [{ readSurroundings }, { withArchive }, { openBars }] = await Promise.all([
    import('./surroundings.ts'),
    import('../compose/archive.ts'),
    import('./progress-bar.ts'),
  ]);
  const bars = openBars();
  try {
    await withArchive(readSurroundings(), ({ shelf }) => verifyAll(shelf, flags, bars));
  } finally {
    bars.close();
  }
}

async function verifyAll(
  shelf: Shelf,
  flags: { readonly org?: string; readonly json?: boolean },
  bars: Bars,
): Promise<void> {
  const [{ DocketError }, { verifyShelved }, print] = await Promise.all([
    import('../base/error.ts'),
    import('../deliver/verify-archive.ts'),
    import('./print.ts'),
  ]);
  const archive = shelf.place;
  const faulty: { run: string; org: string; report: string; folder: string; faults: readonly string[] }[] = [];
  let runs = 0;
  const bar = bars.add('verifying');
  for await (const shelved of shelf.runs(flags.org)) {
    if (shelved.halfMadeAt !== undefined) continue;
    runs += 1;
    bar.set(0, 0, `${runs} runs so far, ${shelved.org}/${shelved.report} now`);
    const faults = await verifyShelved(shelved);
    if (faults.length === 0) continue;
    const { id: run, org, report, box } = shelved;
    const folder = box.place;
    faulty.push({ run, org, report, folder, faults });
  }
  bars.close();
  if (!flags.json) {
    for (const { folder, faults } of faulty) for (const fault of faults) print.printLine(`${folder}: ${fault}`);
  }
  if (runs === 0 && flags.org !== undefined) {
    throw new DocketError('run.not_found', `The archive has no run of ${JSON.stringify(flags.org)}.`, {
      where: archive,
      next: 'Leave --org out to verify all of it; DOCKET_ARCHIVE names the archive.',
    });
  }
  if (flags.json) print.printJson({ archive, runs, faulty });
  else {
    const faults = faulty.reduce((sum, run) => sum + run.faults.length, 0);
    print.printLine(
      faults === 0
        ? `${runs} runs in ${archive}, each as it was sealed and sent.`
        : `${faults} ${faults === 1 ? 'fault' : 'faults'} in ${faulty.length} of ${runs} runs in ${archive}.`,
    );
  }
  process.exitCode = faulty.length === 0 ? 0 : 1;
}
