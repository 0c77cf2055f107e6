import type { Command } from 'commander';

export function addResume(program: Command): void {
  program
    .command('resume')
    .description('Lift the pause of an organization whose API key was refused')
    .argument('<org>', 'the organization, as its folder is named')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
A key that the service refuses pauses the scheduled runs of its organization. They go on by themselves when the key is
another one, or when a run on demand succeeds. This command is for the rest, e.g. a permission that was given back.
Slots that came due meanwhile are made up for as the report's catch_up says.

Example:
  docket resume acme`,
    )
    .action(resume);
}

async function resume(org: string, flags: { readonly json?: boolean }): Promise<void> {
  const [{ readSurroundings }, { openRedis }, { DEFAULT_PREFIX }, { redisPauses }, { pauseDocument }, print] =
    await Promise.all([
      import('./surroundings.ts'),
      import('../queue/connection.ts'),
      import('../queue/keys.ts'),
      import('../queue/pauses.ts'),
      import('./pause-document.ts'),
      import('./print.ts'),
    ]);
  const { config, log } = readSurroundings();
  const redis = await openRedis(config.REDIS_URL, 'producer', log);
  try {
    const lifted = await redisPauses(redis, { prefix: DEFAULT_PREFIX }).lift(org);
    if (lifted === undefined) await requireOrg(config.DOCKET_JOBS, org);
    if (flags.json) print.printJson({ organization: org, lifted: lifted === undefined ? null : pauseDocument(lifted) });
    else if (lifted === undefined) print.printLine(`${org} is not paused.`);
    else
      print.printLine(
        `${org} goes on within a minute. It was paused since ${new Date(lifted.since).toISOString()}: ${lifted.why}`,
      );
  } finally {
    redis.disconnect();
  }
}

/** An organization that is not there was misspelt, and must not be answered as if all were well. */
async function requireOrg(folder: string, org: string): Promise<void> {
  const [{ DocketError }, { loadJobs }, { nearest }] = await Promise.all([
    import('../base/error.ts'),
    import('../define/load.ts'),
    import('../define/nearest.ts'),
  ]);
  const { orgs } = await loadJobs(folder);
  if (orgs.has(org)) return;
  const known = [...orgs.keys()];
  const near = nearest(org, known, 3);
  throw new DocketError(
    'definition.not_found',
    `There is no organization ${JSON.stringify(org)}, and none of that name is paused.`,
    {
      expected:
        known.length === 0
          ? `an organization in ${folder}`
          : `one of ${(near.length > 0 ? near : known.slice(0, 20)).join(', ')}`,
      next: '`docket schedule` names the organizations that are paused.',
    },
  );
}
