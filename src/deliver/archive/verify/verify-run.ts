import { toDocketError } from '../../../base/error.ts';
import type { AttemptRecord, Manifest } from '../archive.ts';
import { type ArchiveFinding, errorFinding } from './finding.ts';
import { archivedMessages, readAttempts, readReceipts, readRelease } from '../attempt-log.ts';
import type { Receipt } from '../../ledger/ledger.ts';
import { readManifest, sha256OfRunFile } from '../run-metadata.ts';
import type { RunFiles, RunRef, StoredRun } from '../storage/archive-storage.ts';

type VerifiableRun = Pick<StoredRun, keyof RunRef | 'files'>;

/**
 * What is wrong with an archived run, each fault in a line; none when every byte is what was sealed and sent. Looks at
 * the manifest, every file, the e-mail, every message that left, receipts and attempts.
 */
export const runProblems = async (run: VerifiableRun): Promise<readonly string[]> =>
  (await verifyRunFiles(run)).map(({ text }) => text);

/** As `verifyShelved`, each fault with its code and file. By the run's own hashes alone. */
export async function verifyRunFiles(run: VerifiableRun): Promise<readonly ArchiveFinding[]> {
  const { files } = run;
  let manifest: Manifest | undefined;
  try {
    manifest = await readManifest(files);
  } catch (error) {
    return [{ code: 'manifest.unreadable', path: 'manifest.json', text: shortMessage(error) }];
  }
  if (manifest === undefined) return [errorFinding('manifest.missing', 'manifest.json', 'is missing')];
  // Before the names: of a run that is being delivered, what tells of a message comes after the message.
  const told = await readDeliveryRecords(files);
  const names = await files.list();
  return [
    ...locationFindings(run, manifest),
    ...(await publishedFindings(files, manifest)),
    ...unexpectedFiles(names, manifest),
    ...told.faults,
    ...(await messageFindings(files, names, told)),
  ];
}

function locationFindings({ id, org, report }: RunRef, manifest: Manifest): ArchiveFinding[] {
  const says = `${manifest.org}/${manifest.report}/${manifest.run}`;
  if (says === `${org}/${report}/${id}`) return [];
  return [errorFinding('manifest.misplaced', 'manifest.json', `is of another run: ${says}`)];
}

async function publishedFindings(box: RunFiles, { files, mail }: Manifest): Promise<ArchiveFinding[]> {
  const faults: ArchiveFinding[] = [];
  const sealed: readonly (readonly [name: string, sha256: string | undefined])[] = [
    ...files.map(({ name, sha256 }) => [`files/${name}`, sha256] as const),
    ['mail.html', mail?.html_sha256],
    ['mail.txt', mail?.text_sha256],
    ...(mail?.pictures ?? []).map(({ name, sha256 }) => [name, sha256] as const),
  ];
  for (const [name, sha256] of sealed) {
    const found = await sha256OfRunFile(box, name).catch(unreadable);
    if (found === undefined) faults.push(errorFinding('file.missing', name, 'is missing or cannot be read'));
    else if (sha256 !== undefined && found !== sha256) {
      faults.push(errorFinding('file.changed', name, `has changed: SHA-256 ${found} instead of ${sha256}`));
    }
  }
  return faults;
}

/** What no version of Docket ever puts into a run's folder. */
function unexpectedFiles(names: readonly string[], { files, mail }: Manifest): ArchiveFinding[] {
  const sealed = new Set([
    ...files.map(({ name }) => `files/${name}`),
    ...(mail?.pictures ?? []).map(({ name }) => name),
    ...['mail.html', 'mail.txt', 'manifest.json', 'receipts.json', 'release.json', 'chain.json'],
  ]);
  return names
    .filter((name) => !sealed.has(name) && !/^(messages|attempts)\//.test(name))
    .map((name) => errorFinding('file.added', name, 'is not of this run'));
}

async function messageFindings(
  box: RunFiles,
  names: readonly string[],
  told: DeliveryRecords,
): Promise<ArchiveFinding[]> {
  const faults: ArchiveFinding[] = [];
  const kept = new Set<string>();
  const changed = new Set<string>();
  for (const { name, delivery } of archivedMessages(names)) {
    const sealed = (await box.get(`${name}.sha256`))?.toString('utf8');
    const found = (await sha256OfRunFile(box, name).catch(unreadable)) ?? 'unreadable';
    kept.add(delivery).add(`${delivery}.${found}`);
    if (sealed?.startsWith(`${found} `) && name.includes(`.${found.slice(0, 16)}.`)) continue;
    faults.push(
      sealed === undefined
        ? errorFinding('message.hash_missing', name, 'has no hash beside it')
        : errorFinding('message.changed', name, `has changed: SHA-256 ${found}`),
    );
    changed.add(delivery);
  }
  const missing = new Map<string, ArchiveFinding>();
  for (const { delivery, state, target } of told.receipts) {
    const left = /-(email|webhook)$/.test(target) && (state === 'sent' || state === 'unknown');
    if (!left || kept.has(delivery)) continue;
    missing.set(delivery, errorFinding('message.missing', `messages/${delivery}`, 'is missing, though it was sent'));
  }
  for (const { delivery, epoch, message } of told.attempts) {
    if (message === undefined || kept.has(`${delivery}.${message}`)) continue;
    const what = `is missing, which attempt ${epoch} sent: SHA-256 ${message}`;
    missing.set(delivery, errorFinding('message.missing', `messages/${delivery}`, what));
  }
  return [...faults, ...[...missing].flatMap(([delivery, found]) => (changed.has(delivery) ? [] : found))];
}

/** What tells of messages that left. */
interface DeliveryRecords {
  readonly receipts: readonly Receipt[];
  readonly attempts: readonly AttemptRecord[];
  /** What of it cannot be read. */
  readonly faults: readonly ArchiveFinding[];
}

async function readDeliveryRecords(box: RunFiles): Promise<DeliveryRecords> {
  const faults: ArchiveFinding[] = [];
  const read = <T>(path: string, look: () => Promise<readonly T[]>): Promise<readonly T[]> =>
    look().catch((error: unknown) => {
      const text = shortMessage(error);
      faults.push({ code: 'paper.unreadable', path: /^(\S+\.json) /.exec(text)?.[1] ?? path, text });
      return [];
    });
  await read('release.json', async () => [await readRelease(box)]);
  return {
    receipts: await read('receipts.json', () => readReceipts(box)),
    attempts: await read('attempts', () => readAttempts(box)),
    faults,
  };
}

/** A disk or a store that cannot be asked at all is no fault of the run. */
function unreadable(error: unknown): undefined {
  if (toDocketError(error).code === 'archive.unreachable') throw error;
  return undefined;
}

/** An `archive.corrupt` names the place in its sentence; a list of faults has it in front already. */
function shortMessage(error: unknown): string {
  const { code, message } = toDocketError(error);
  if (code === 'archive.unreachable') throw error;
  return message.replace(/^The archived run in .* is not what was sealed: /, '').replace(/\.$/, '');
}
