import { toDocketError } from '../../../base/error.ts';
import { kindOfTarget } from '../../../definitions/schema/kinds.ts';
import type { Receipt } from '../../ledger/ledger.ts';
import { messageKinds } from '../../targets/registry.ts';
import { extractProblem } from '../archive-errors.ts';
import { type AttemptRecord, archivedMessages, readAttempts, readReceipts, readRelease } from '../attempt-log.ts';
import type { Manifest } from '../manifest.ts';
import { mailFiles } from '../run-folder/mail-files.ts';
import { readManifest, sha256OfRunFile } from '../run-folder/run-metadata.ts';
import { isMetadataFile, type RunFiles, type RunRef, type StoredRun } from '../storage/archive-storage.ts';

/** One result of `docket archive verify`. Codes are stable. */
export interface ArchiveFinding {
  /** E.g. `file.changed`; docs/reference/archive-layout.md lists all of them. */
  readonly code: string;
  /** Relative to the run's folder or, for files of the archive itself, to its root. */
  readonly path: string;
  /** A sentence that starts with the path. */
  readonly text: string;
  /** Present if the finding is information, not a problem. */
  readonly note?: true;
}

export const errorFinding = (code: string, path: string, problem: string): ArchiveFinding => ({
  code,
  path,
  text: `${path} ${problem}`,
});

export const noteFinding = (code: string, path: string, fact: string): ArchiveFinding => ({
  ...errorFinding(code, path, fact),
  note: true,
});

type VerifiableRun = Pick<StoredRun, keyof RunRef | 'files'>;

/** The texts of `verifyRunFiles`; empty when every file still is as it was published and sent. */
export const runProblems = async (run: VerifiableRun): Promise<readonly string[]> =>
  (await verifyRunFiles(run)).map(({ text }) => text);

/**
 * Verifies a run by its own hashes: the manifest, every file, the e-mail, every sent message, receipts and attempts.
 * Throws `archive.unreachable`.
 */
export async function verifyRunFiles(run: VerifiableRun): Promise<readonly ArchiveFinding[]> {
  const { files } = run;
  let manifest: Manifest | undefined;
  try {
    manifest = await readManifest(files);
  } catch (error) {
    return [{ code: 'manifest.unreadable', path: 'manifest.json', text: shortMessage(error) }];
  }
  if (manifest === undefined) return [errorFinding('manifest.missing', 'manifest.json', 'is missing')];
  // Read before the names: a delivery writes the message before the records that name it.
  const records = await readDeliveryRecords(files);
  const names = await files.list();
  return [
    ...locationFindings(run, manifest),
    ...(await publishedFindings(files, manifest)),
    ...unexpectedFiles(names, manifest),
    ...records.findings,
    ...(await messageFindings(files, names, records)),
  ];
}

function locationFindings({ id, org, report }: RunRef, manifest: Manifest): ArchiveFinding[] {
  const named = `${manifest.org}/${manifest.report}/${manifest.run}`;
  if (named === `${org}/${report}/${id}`) return [];
  return [errorFinding('manifest.misplaced', 'manifest.json', `belongs to another run: ${named}`)];
}

async function publishedFindings(runFiles: RunFiles, { files, mail }: Manifest): Promise<ArchiveFinding[]> {
  const findings: ArchiveFinding[] = [];
  const published: readonly (readonly [name: string, sha256: string | undefined])[] = [
    ...files.map(({ name, sha256 }) => [`files/${name}`, sha256] as const),
    ...mailFiles(mail).map(({ name, sha256 }) => [name, sha256] as const),
  ];
  for (const [name, sha256] of published) {
    const actual = await sha256OfRunFile(runFiles, name).catch(undefinedIfUnreadable);
    if (actual === undefined) findings.push(errorFinding('file.missing', name, 'is missing or cannot be read'));
    else if (sha256 !== undefined && actual !== sha256) {
      findings.push(errorFinding('file.changed', name, `has changed: SHA-256 ${actual} instead of ${sha256}`));
    }
  }
  return findings;
}

/** Files that no version of Docket writes into a run's folder. */
function unexpectedFiles(names: readonly string[], { files, mail }: Manifest): ArchiveFinding[] {
  const known = new Set([
    ...files.map(({ name }) => `files/${name}`),
    ...mailFiles(mail).map(({ name }) => name),
    'manifest.json',
  ]);
  return names
    .filter((name) => !known.has(name) && !isMetadataFile(name))
    .map((name) => errorFinding('file.added', name, 'does not belong to this run'));
}

async function messageFindings(
  files: RunFiles,
  names: readonly string[],
  records: DeliveryRecords,
): Promise<ArchiveFinding[]> {
  const findings: ArchiveFinding[] = [];
  const archived = new Set<string>();
  const changed = new Set<string>();
  for (const { name, delivery } of archivedMessages(names)) {
    const hashFile = (await files.get(`${name}.sha256`))?.toString('utf8');
    const actual = (await sha256OfRunFile(files, name).catch(undefinedIfUnreadable)) ?? 'unreadable';
    archived.add(delivery).add(`${delivery}.${actual}`);
    if (hashFile?.startsWith(`${actual} `) && name.includes(`.${actual.slice(0, 16)}.`)) continue;
    findings.push(
      hashFile === undefined
        ? errorFinding('message.hash_missing', name, 'has no .sha256 file')
        : errorFinding('message.changed', name, `has changed: SHA-256 ${actual}`),
    );
    changed.add(delivery);
  }
  const missing = new Map<string, ArchiveFinding>();
  const kinds = messageKinds();
  for (const { delivery, state, target } of records.receipts) {
    const hasMessage = kinds.has(kindOfTarget(target)) && (state === 'sent' || state === 'unknown');
    if (!hasMessage || archived.has(delivery)) continue;
    missing.set(delivery, errorFinding('message.missing', `messages/${delivery}`, 'is missing, although it was sent'));
  }
  for (const { delivery, epoch, message } of records.attempts) {
    if (message === undefined || archived.has(`${delivery}.${message}`)) continue;
    const problem = `is missing: attempt ${epoch} sent it, SHA-256 ${message}`;
    missing.set(delivery, errorFinding('message.missing', `messages/${delivery}`, problem));
  }
  return [...findings, ...[...missing].flatMap(([delivery, finding]) => (changed.has(delivery) ? [] : finding))];
}

/** The records that name sent messages. */
interface DeliveryRecords {
  readonly receipts: readonly Receipt[];
  readonly attempts: readonly AttemptRecord[];
  /** Findings about unreadable records. */
  readonly findings: readonly ArchiveFinding[];
}

async function readDeliveryRecords(files: RunFiles): Promise<DeliveryRecords> {
  const findings: ArchiveFinding[] = [];
  const collect = <T>(path: string, read: () => Promise<readonly T[]>): Promise<readonly T[]> =>
    read().catch((error: unknown) => {
      const text = shortMessage(error);
      findings.push({ code: 'paper.unreadable', path: /^(\S+\.json) /.exec(text)?.[1] ?? path, text });
      return [];
    });
  await collect('release.json', async () => [await readRelease(files)]);
  return {
    receipts: await collect('receipts.json', () => readReceipts(files)),
    attempts: await collect('attempts', () => readAttempts(files)),
    findings,
  };
}

/** Rethrows `archive.unreachable`: a failing disk or store says nothing about the run. */
function undefinedIfUnreadable(error: unknown): undefined {
  if (toDocketError(error).code === 'archive.unreachable') throw error;
  return undefined;
}

/** The message without the run's location, which a list of findings shows only once. */
function shortMessage(error: unknown): string {
  const { code, message } = toDocketError(error);
  if (code === 'archive.unreachable') throw error;
  return extractProblem(message);
}
