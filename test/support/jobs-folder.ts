import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A private jobs folder with these files, removed after the test. */
export async function jobsFolder(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'docket-jobs-'));
  onTestFinished(() => rm(parent, { recursive: true, force: true }));
  // A private Redis may be created beside it.
  const folder = join(parent, 'jobs');
  await mkdir(folder);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  return folder;
}

/** An organization for any report of the tests. */
export const ORG = `version: 1
name: Acme
org: 7
api_key: { env: ACME_KEY }
timezone: Europe/Zurich
recipients:
  domains: [acme.example]
  addresses: [auditor@partner.example]
`;

/** A valid report, which tests change in one place. */
export const REPORT = `version: 1
title: Weekly
owner: ops@acme.example
schedule: { cron: "0 8 * * MON", timezone: Europe/Zurich, catch_up: latest }
period: previous_week
compare: previous_period
sections:
  - id: onboarding
    metrics: [profiles.created, profiles.decided]
    dimensions: [profile.type]
    granularity: day
    filters:
      - { dimension: profile.risk, op: in, values: [high, severe] }
    order: [{ by: bucket, dir: desc }]
    totals: true
    chart: line
  - id: roster
    list: profiles
    ordering: -id
outputs:
  - { format: xlsx, name: "KPIs {{ period.label }}.xlsx" }
  - { format: csv }
deliveries:
  - email: { to: [lead@acme.example], attach: [xlsx] }
  - directory: { path: out }
`;
