import type { Command } from 'commander';

export function addStart(program: Command): void {
  program
    .command('start')
    .description('Run the worker, the schedules and the admin route until stopped')
    .option('--concurrency <n>', 'runs at the same time in this process', '4')
    .option('--require-durable', 'refuse a Redis that does not log each write (appendonly yes), instead of warning')
    .addHelpText(
      'after',
      `
Stops on SIGTERM or Ctrl-C: runs in hand get ten seconds, then go on in another process or at the next start.

Example:
  COMPLIANCE_API_URL=https://api.example.com SMTP_URL=smtps://… MAIL_FROM=reports@acme.example docket start`,
    )
    .action(start);
}

async function start(flags: { readonly concurrency: string; readonly requireDurable?: boolean }): Promise<void> {
  const [
    { abortOnSignal, readSurroundings },
    { composeWorker },
    { composeAdmin },
    { createMetrics },
    { requireMail },
    { loadJobs },
    { formatFault },
    { createScope },
    { readNumber },
  ] = await Promise.all([
    import('./surroundings.ts'),
    import('../compose/worker.ts'),
    import('../compose/admin.ts'),
    import('../admin/metrics.ts'),
    import('../compose/ports.ts'),
    import('../define/load.ts'),
    import('../define/fault.ts'),
    import('../base/scope.ts'),
    import('./flag.ts'),
  ]);
  const around = readSurroundings();
  const { config, log } = around;
  const concurrency = readNumber('--concurrency', flags.concurrency, { min: 1, max: 100 });
  const jobs = await loadJobs(config.DOCKET_JOBS);
  // One broken file must not stop the other organizations' reports; it is said as loudly as a log can.
  for (const fault of jobs.faults) log.error(`Left out: ${formatFault(fault)}`, { path: fault.file });
  for (const definition of jobs.reports.values()) {
    const settings = jobs.orgs.get(definition.org);
    if (settings !== undefined) requireMail(definition, settings, config);
  }
  const signal = abortOnSignal();
  const scope = createScope();
  try {
    const metrics = createMetrics(jobs.orgs.keys());
    const { observe } = metrics;
    const settings = { jobs, concurrency, observe, requireDurable: flags.requireDurable ?? false };
    const worker = scope.use(await composeWorker(around, settings), (opened) => opened.close());
    const admin = scope.use(await composeAdmin(around, jobs, worker, metrics), (opened) => opened.close());
    log.info('Docket runs', { url: admin.url, count: jobs.reports.size, path: config.DOCKET_JOBS });
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    log.info('Stopping: runs in hand may end');
  } finally {
    await scope.close();
  }
}
