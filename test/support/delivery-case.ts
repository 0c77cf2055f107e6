import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { secretSource } from '../../src/base/secrets/secret.ts';
import { reportFileSchema } from '../../src/compose/built-in-kinds.ts';
import type { OrgSettings } from '../../src/definitions/schema/org-settings.ts';
import type { Definition } from '../../src/definitions/schema/report-definition.ts';
import type { Archive, Manifest, PublishedRun } from '../../src/deliver/archive/archive.ts';
import { directoryArchive } from '../../src/deliver/archive/inline-archive.ts';
import type { DeliverInput } from '../../src/deliver/deliver.ts';
import type { S3Spec } from '../../src/deliver/targets/s3/s3-schema.ts';
import type { SftpSpec } from '../../src/deliver/targets/sftp/sftp-schema.ts';
import type { SlackSpec } from '../../src/deliver/targets/slack/slack-target.ts';
import type { TeamsSpec } from '../../src/deliver/targets/teams/teams-target.ts';
import type { WebhookSpec } from '../../src/deliver/targets/webhook/webhook-target.ts';
import { type Artifact, artifactKind, type RunMail, storedKind } from '../../src/render/artifact.ts';
import { memoryLedger } from './memory-ledger.ts';

export const PERIOD = { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' } as const;

export const RUN = '0123456789abcdef0123456789abcdef';

export const ORDER = {
  id: RUN,
  org: 'acme',
  report: 'weekly-kpi',
  slot: '2026-11-16T07:00:00.000Z',
  period: PERIOD,
  createdAt: Date.UTC(2026, 10, 16, 7),
} as const;

export const SETTINGS: OrgSettings = {
  version: 1,
  id: 'acme',
  org: 1,
  api_key: { env: 'ACME_KEY' },
  timezone: 'Europe/Zurich',
  recipients: { domains: ['acme.example'], addresses: ['guest@partner.example'] },
};

/** Secrets for deliveries that need none: every look-up fails. */
export const NO_SECRETS = secretSource({});

export type TestDelivery =
  | {
      email: {
        to: string[];
        subject?: string;
        subject_figures?: boolean;
        body?: 'full' | 'summary' | 'notice';
        list_in_body?: boolean;
        attach?: ('xlsx' | 'csv')[];
        together?: boolean;
        max_attachment?: string | number;
      };
    }
  | { directory: { path: string; overwrite?: boolean } }
  | { s3: S3Spec }
  | { sftp: SftpSpec }
  | { webhook: WebhookSpec }
  | { slack: SlackSpec }
  | { teams: TeamsSpec };

/**
 * A definition with these deliveries. It skips the checks of the define stage on purpose, so that the checks before a
 * delivery must suffice.
 */
export function definitionWith(deliveries: readonly TestDelivery[]): Definition {
  const file = reportFileSchema.parse({
    version: 1,
    title: 'Weekly KPIs',
    owner: 'ops@acme.example',
    period: 'previous_week',
    sections: [{ id: 'queue', metrics: ['alerts.open'] }],
    outputs: [{ format: 'xlsx' }, { format: 'csv' }],
  });
  const given = deliveries.map((delivery) =>
    'email' in delivery ? { email: { attach: [], ...delivery.email } } : delivery,
  );
  return { ...file, deliveries: given, org: 'acme', report: 'weekly-kpi', digest: 'd'.repeat(64) };
}

export function manifestOf(artifacts: readonly Artifact[], run: string = RUN): Manifest {
  return {
    version: 1,
    run,
    org: 'acme',
    organization: 'Acme Ltd',
    report: 'weekly-kpi',
    title: 'Weekly KPIs',
    owner: 'ops@acme.example',
    slot: ORDER.slot,
    digest: 'd'.repeat(64),
    period: PERIOD,
    registry_version: 7,
    calls: [],
    incomplete: [],
    files: artifacts.map((artifact) => ({
      name: artifact.name,
      ...storedKind(artifact),
      bytes: artifact.bytes,
      sha256: artifact.sha256,
    })),
    recipients: [],
    made_at: '2026-11-16T07:00:05.000Z',
  };
}

export const MAIL: RunMail = {
  html: '<!doctype html><p>All is <b>well</b> in Zürich.</p>',
  text: 'All is well in Zürich.\n',
  pictures: [],
};

export async function writeArtifact(folder: string, name: string, content: string | Uint8Array): Promise<Artifact> {
  const path = join(folder, name);
  await writeFile(path, content);
  const bytes = Buffer.from(content);
  const format = name.endsWith('.csv') ? 'csv' : name.endsWith('.zip') ? 'zip' : 'xlsx';
  const stored = name.endsWith('.pdf') ? { format: 'pdf', media_type: 'application/pdf' } : { format };
  return {
    name,
    format: stored.format,
    ...artifactKind(stored),
    path,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
}

/** A private folder that is removed after the test. */
export async function folderFor(onEnd: (cleanUp: () => Promise<void>) => void): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'docket-deliver-'));
  onEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A sealed run with a workbook and a CSV file. */
export async function sealedRun(
  root: string,
  files: Readonly<Record<string, string | Uint8Array>> = {
    'KPIs 2026-W46.xlsx': 'workbook',
    'queue.csv': 'alerts\r\n3\r\n',
  },
  archive: Archive = directoryArchive(join(root, 'archive')),
  { mail = MAIL, ...more }: Partial<Omit<Manifest, 'mail'>> & { readonly mail?: RunMail } = {},
): Promise<{ archive: Archive; published: PublishedRun }> {
  const staged = await archive.stage(RUN);
  const artifacts: Artifact[] = [];
  for (const [name, content] of Object.entries(files)) artifacts.push(await writeArtifact(staged, name, content));
  return { archive, published: await archive.publish(staged, { ...manifestOf(artifacts), ...more }, artifacts, mail) };
}

/** Input that delivers `RUN`. By default the ledger is empty, and there are no secrets and no mail server. */
export const deliverInput = (
  given: Pick<DeliverInput, 'definition' | 'published' | 'archive'> & Partial<DeliverInput>,
): DeliverInput => ({
  order: ORDER,
  settings: SETTINGS,
  secrets: NO_SECRETS,
  mail: undefined,
  ledger: memoryLedger(),
  clock: systemClock,
  signal: new AbortController().signal,
  observe: () => {},
  ...given,
});
