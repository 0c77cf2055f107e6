import type { Command } from 'commander';
import type { Surroundings } from '../compose/ports.ts';
import type { Jobs } from '../define/load.ts';

/** One thing that was looked at. */
interface Finding {
  readonly what: string;
  readonly state: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** What to do about it; absent when it is well. */
  readonly remedy?: string;
}

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description(
      'Try everything that `docket start` needs: Redis, definitions, API keys, mail server, targets, archive',
    )
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Sends nothing; asks each organization's metric catalog once, which costs its key one call.
With REDIS_URL set, that call stands in the same line as those of the workers: beside busy ones it may take a minute.
Exit codes: 0 when nothing fails (warnings are allowed), 1 otherwise.

Example:
  docket doctor --json`,
    )
    .action(doctor);
}

async function doctor(flags: { readonly json?: boolean }): Promise<void> {
  const [{ readSurroundings }, { loadJobs }, print] = await Promise.all([
    import('./surroundings.ts'),
    import('../define/load.ts'),
    import('./print.ts'),
  ]);
  const around = readSurroundings();
  const jobs = await loadJobs(around.config.DOCKET_JOBS);
  const findings = [
    ...(await examine('Redis', () => redis(around))),
    definitions(jobs),
    ...(await keys(jobs, around)),
    ...(await mail(jobs, around)),
    ...(await targets(jobs, around)),
    ...(await examine('Archive', () => archive(around))),
  ];
  if (flags.json) print.printJson({ findings });
  else {
    for (const { what, state, detail, remedy } of findings) {
      print.printLine(`${state.padEnd(4)}  ${what}: ${detail}${remedy === undefined ? '' : `\n      ${remedy}`}`);
    }
  }
  process.exitCode = findings.some(({ state }) => state === 'fail') ? 1 : 0;
}

/** A finding for what the look throws, too: one broken part must not hide the others. */
async function examine(what: string, look: () => Promise<Omit<Finding, 'what'>>): Promise<Finding[]> {
  try {
    return [{ what, ...(await look()) }];
  } catch (thrown) {
    const { toDocketError } = await import('../base/error.ts');
    const { message, got, next } = toDocketError(thrown);
    const detail = got === undefined ? message : `${message} (${got})`;
    return [{ what, state: 'fail', detail, ...(next === undefined ? {} : { remedy: next }) }];
  }
}

async function redis({ config }: Surroundings): Promise<Omit<Finding, 'what'>> {
  const [{ assertSuitable, openRedis, redisName }, { silentLog }] = await Promise.all([
    import('../queue/connection.ts'),
    import('../base/log.ts'),
  ]);
  const client = await openRedis(config.REDIS_URL, 'producer', silentLog);
  try {
    const { version, policy, persistent } = await assertSuitable(client, silentLog);
    const detail = `${redisName(client)}, version ${version}, ${policy}`;
    if (persistent !== false) return { state: 'ok', detail };
    return {
      state: 'warn',
      detail: `${detail}, nothing kept on disk`,
      remedy: 'Turn on `appendonly yes`: a restart of Redis forgets runs and deliveries otherwise.',
    };
  } finally {
    client.disconnect();
  }
}

function definitions({ folder, orgs, reports, faults }: Jobs): Finding {
  const detail = `${reports.size} reports of ${orgs.size} organizations in ${folder}`;
  if (faults.length === 0) return { what: 'Definitions', state: 'ok', detail };
  return {
    what: 'Definitions',
    state: 'fail',
    detail: `${detail}, ${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}`,
    remedy: '`docket check` shows each of them with its line.',
  };
}

async function keys(jobs: Jobs, around: Surroundings): Promise<Finding[]> {
  const [{ composeCatalogs }, { DocketError, toDocketError }] = await Promise.all([
    import('../compose/ports.ts'),
    import('../base/error.ts'),
  ]);
  if (around.config.COMPLIANCE_API_URL === undefined) {
    const remedy = 'Set COMPLIANCE_API_URL to the base URL of the Compliance Service.';
    return [{ what: 'API', state: 'fail', detail: 'COMPLIANCE_API_URL is not set', remedy }];
  }
  const opened = await composeCatalogs(around, { freshCatalogs: true }).catch(toDocketError);
  if (opened instanceof DocketError) return examine('API keys', () => Promise.reject(opened));
  const { catalogOf, scope } = opened;
  try {
    const findings: Finding[] = [];
    for (const settings of jobs.orgs.values()) {
      findings.push(
        ...(await examine(`API key of ${settings.id}`, async () => {
          const { metrics, dimensions, registry_version, unread = [] } = await catalogOf(settings);
          const read = `${metrics.length} metrics, ${dimensions.length} dimensions, registry version ${registry_version}`;
          if (unread.length === 0) return { state: 'ok', detail: read };
          const odd = unread.map(({ id, why }) => `${id} (${why})`).join(', ');
          return {
            state: 'warn',
            detail: `${read}; not readable and left out: ${odd}`,
            remedy: 'Report it to the service. Reports that do not use them are not affected.',
          };
        })),
      );
    }
    return findings;
  } finally {
    await scope.close();
  }
}

/** Every mail server that a delivery would use, once. */
async function mail(jobs: Jobs, around: Surroundings): Promise<Finding[]> {
  const { config } = around;
  const [{ secretSource }, { deploymentSmtp, mailServerOf }, { readDkimKey }, { probeMailServer }] = await Promise.all([
    import('../base/secret.ts'),
    import('../compose/mail.ts'),
    import('../deliver/dkim.ts'),
    import('../deliver/probe.ts'),
  ]);
  const mailing = new Set(
    [...jobs.reports.values()].filter(({ deliveries }) => deliveries.some(({ email }) => email)).map(({ org }) => org),
  );
  const findings: Finding[] = [];
  const own = [...jobs.orgs.values()].filter(({ id, smtp }) => mailing.has(id) && smtp?.url !== undefined);
  if (own.length < mailing.size) {
    findings.push(
      ...(await examine('Mail server (SMTP_URL)', async () => {
        if (config.SMTP_URL === undefined || config.MAIL_FROM === undefined) {
          const remedy = 'Set both: reports have e-mail deliveries.';
          return { state: 'fail', detail: 'SMTP_URL or MAIL_FROM is not set', remedy };
        }
        const server = await mailServerOf({}, around);
        if (server === undefined) return { state: 'fail', detail: 'there is none' };
        return { state: 'ok', detail: await probeMailServer(server.url, server.options) };
      })),
    );
  }
  const { dkim } = deploymentSmtp(config);
  if (dkim !== undefined) {
    findings.push(
      ...(await examine('DKIM key (SMTP_DKIM_KEY_FILE)', async () => {
        readDkimKey(await secretSource(around.env)(dkim.key), 'SMTP_DKIM_KEY_FILE');
        return { state: 'ok', detail: `signs for ${dkim.domain}` };
      })),
    );
  }
  for (const { id, smtp } of jobs.orgs.values()) {
    const key = smtp?.dkim?.key;
    if (key === undefined) continue;
    findings.push(
      ...(await examine(`DKIM key of ${id}`, async () => {
        readDkimKey(await secretSource(around.env)(key), `the smtp.dkim of ${id}`);
        return { state: 'ok', detail: `signs for ${smtp?.dkim?.domain}` };
      })),
    );
  }
  for (const settings of own) {
    findings.push(
      ...(await examine(`Mail server of ${settings.id}`, async () => {
        const server = await mailServerOf(settings, around);
        if (server === undefined) return { state: 'fail', detail: 'it has none' };
        return { state: 'ok', detail: await probeMailServer(server.url, server.options) };
      })),
    );
  }
  return findings;
}

/** Every place that a delivery would write to or call, once for each organization. */
async function targets(jobs: Jobs, { env, clock, workingDirectory = process.cwd() }: Surroundings): Promise<Finding[]> {
  const [{ secretSource }, { periodOf }, { targetProbe }] = await Promise.all([
    import('../base/secret.ts'),
    import('../define/period.ts'),
    import('../deliver/probe-targets.ts'),
  ]);
  const findings: Finding[] = [];
  const tried = new Set<string>();
  for (const definition of jobs.reports.values()) {
    const { org, report, title, deliveries } = definition;
    const settings = jobs.orgs.get(org);
    if (settings === undefined) continue;
    const period = periodOf(definition, settings, clock.now());
    const context = {
      variables: { period, org, report, title, run: 'doctor' },
      secrets: secretSource(env),
      allowPrivate: settings.allow_private === true,
      workingDirectory,
    };
    for (const delivery of deliveries) {
      const target = targetProbe(delivery, context);
      const what = `${target?.name} of ${org}`;
      if (target === undefined || tried.has(what)) continue;
      tried.add(what);
      findings.push(...(await examine(what, async () => ({ state: 'ok', detail: await target.probe() }))));
    }
  }
  return findings;
}

async function archive(around: Surroundings): Promise<Omit<Finding, 'what'>> {
  const { withArchive } = await import('../compose/archive.ts');
  const { ok, detail } = await withArchive(around, async ({ archive: kept, shelf }) => {
    // Where files are made may be another place than where they are kept.
    await kept.discard(await kept.stage('doctor'));
    return shelf.probe();
  });
  return { state: ok ? 'ok' : 'warn', detail };
}
