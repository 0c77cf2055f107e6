import { parse } from 'csv-parse/sync';
import { DateTime } from 'luxon';
import { systemClock } from '../../src/base/clock.ts';
import type { Manifest } from '../../src/deliver/archive/archive.ts';
import type { RunFiles } from '../../src/deliver/archive/storage/archive-storage.ts';
import type { RunRecord } from '../../src/run/run-record.ts';
import { inProcessSandbox } from '../support/in-process-sandbox.ts';
import { desksOf, filtersOf, METRICS, SCHEDULED, type SoakOrg, SPLIT, SPLIT_BY } from './definitions.ts';
import type { Deployment } from './deployment.ts';
import type { Facts } from './reconcile.ts';

export interface Archived {
  readonly org: string;
  readonly manifest: Manifest;
  readonly runFiles: RunFiles;
  readonly faults: readonly string[];
}

export function orgOf({ orgs }: Deployment, id: string): SoakOrg {
  const org = orgs.find((one) => one.id === id);
  if (org === undefined) throw new Error(`a run of ${id}, which is nobody`);
  return org;
}

/** Compares each published value with a second instance of the service that has the same data and no faults. */
export async function figuresOf(
  deployment: Deployment,
  archived: ReadonlyMap<string, Archived>,
  known: ReadonlyMap<string, RunRecord>,
): Promise<Facts['figures']> {
  // It starts at the same time, so that it has the same history. Only then does its clock advance.
  let ahead = deployment.serviceBegan - Date.now();
  const reference = inProcessSandbox({ clock: { ...systemClock, now: () => Date.now() + ahead } });
  ahead = deployment.serviceNow() - Date.now();
  const answers = new Map<string, readonly string[]>();
  const wrong: string[] = [];
  let compared = 0;
  for (const [id, { org: orgId, manifest, runFiles }] of archived) {
    const org = orgOf(deployment, orgId);
    const { from, to, timezone } = manifest.period;
    const name = `${org.id}/${manifest.report} ${manifest.slot}`;
    const slot = known.get(id)?.trigger === 'schedule' ? manifest.slot : undefined;
    if (slot !== undefined) {
      const day = DateTime.fromISO(slot, { zone: org.timezone }).minus({ days: 1 }).toISODate();
      if (from !== day || to !== day || timezone !== org.timezone)
        wrong.push(`${name} is of ${from} to ${to} ${timezone}, not of ${day} ${org.timezone}`);
    }
    const desks = manifest.report === SPLIT ? desksOf(org) : [undefined];
    for (const desk of desks) {
      const filters =
        desk !== undefined
          ? [{ dimension: SPLIT_BY, op: 'eq', values: [desk.value] }]
          : manifest.report === SCHEDULED
            ? filtersOf(org, versionOf(manifest))
            : [];
      const question = JSON.stringify({ metrics: METRICS, time: { from, to, timezone }, filters });
      const requested = `${org.service} ${question}`;
      const right = answers.get(requested) ?? (await answerOf(reference, org, question));
      answers.set(requested, right);
      const place = desk === undefined ? '' : `${desk.slug}/`;
      const file = manifest.files.find((one) => one.name.startsWith(place) && one.name.endsWith(' figures.csv'))?.name;
      const bytes = file === undefined ? undefined : await runFiles.get(`files/${file}`);
      // The last column shows whether the period was running.
      const row = (parse(bytes ?? '', { bom: true })[1] ?? []).slice(0, METRICS.length);
      compared += METRICS.length;
      if (row.join() !== right.join())
        wrong.push(`${name} ${desk?.value ?? ''}: ${row.join(', ')} instead of ${right.join(', ')}`);
    }
  }
  return { compared, wrong };
}

/** The version of the definition, which is at the end of the title. */
const versionOf = ({ title }: Manifest): number => Number(/v(\d+)$/.exec(title)?.[1]);

async function answerOf(
  reference: ReturnType<typeof inProcessSandbox>,
  org: SoakOrg,
  question: string,
): Promise<string[]> {
  const { rows } = await reference.answered(JSON.parse(question), { org: org.service });
  return METRICS.map((metric) => String(rows[0]?.[metric]));
}
