import { toDocketError } from '../base/error.ts';
import type { AttemptRecord, Manifest } from './archive.ts';
import { type ArchiveFinding, fault } from './finding.ts';
import { keptMessages, readAttempts, readReceipts, readRelease } from './kept-attempts.ts';
import type { Receipt } from './receipt.ts';
import { digestOf, readManifest } from './run-papers.ts';
import type { RunBox, RunName, Shelved } from './shelf.ts';

type Verified = Pick<Shelved, keyof RunName | 'box'>;

/**
 * What is wrong with an archived run, each fault in a line; none when every byte is what was sealed and sent. Looks at
 * the manifest, every file, the e-mail, every message that left, receipts and attempts.
 */
export const verifyShelved = async (run: Verified): Promise<readonly string[]> =>
  (await inspectRun(run)).map(({ text }) => text);

/** As `verifyShelved`, each fault with its code and file. By the run's own hashes alone. */
export async function inspectRun(run: Verified): Promise<readonly ArchiveFinding[]> {
  const { box } = run;
  let manifest: Manifest | undefined;
  try {
    manifest = await readManifest(box);
  } catch (error) {
    return [{ code: 'manifest.unreadable', path: 'manifest.json', text: inShort(error) }];
  }
  if (manifest === undefined) return [fault('manifest.missing', 'manifest.json', 'is missing')];
  // Before the names: of a run that is being delivered, what tells of a message comes after the message.
  const told = await readTold(box);
  const names = await box.names();
  return [
    ...placeFaults(run, manifest),
    ...(await sealedFaults(box, manifest)),
    ...strangers(names, manifest),
    ...told.faults,
    ...(await messageFaults(box, names, told)),
  ];
}

function placeFaults({ id, org, report }: RunName, manifest: Manifest): ArchiveFinding[] {
  const says = `${manifest.org}/${manifest.report}/${manifest.run}`;
  if (says === `${org}/${report}/${id}`) return [];
  return [fault('manifest.misplaced', 'manifest.json', `is of another run: ${says}`)];
}

async function sealedFaults(box: RunBox, { files, mail }: Manifest): Promise<ArchiveFinding[]> {
  const faults: ArchiveFinding[] = [];
  const sealed: readonly (readonly [name: string, sha256: string | undefined])[] = [
    ...files.map(({ name, sha256 }) => [`files/${name}`, sha256] as const),
    ['mail.html', mail?.html_sha256],
    ['mail.txt', mail?.text_sha256],
    ...(mail?.pictures ?? []).map(({ name, sha256 }) => [name, sha256] as const),
  ];
  for (const [name, sha256] of sealed) {
    const found = await digestOf(box, name).catch(unreadable);
    if (found === undefined) faults.push(fault('file.missing', name, 'is missing or cannot be read'));
    else if (sha256 !== undefined && found !== sha256) {
      faults.push(fault('file.changed', name, `has changed: SHA-256 ${found} instead of ${sha256}`));
    }
  }
  return faults;
}

/** What no version of Docket ever puts into a run's folder. */
function strangers(names: readonly string[], { files, mail }: Manifest): ArchiveFinding[] {
  const sealed = new Set([
    ...files.map(({ name }) => `files/${name}`),
    ...(mail?.pictures ?? []).map(({ name }) => name),
    ...['mail.html', 'mail.txt', 'manifest.json', 'receipts.json', 'release.json', 'chain.json'],
  ]);
  return names
    .filter((name) => !sealed.has(name) && !/^(messages|attempts)\//.test(name))
    .map((name) => fault('file.added', name, 'is not of this run'));
}

async function messageFaults(box: RunBox, names: readonly string[], told: Told): Promise<ArchiveFinding[]> {
  const faults: ArchiveFinding[] = [];
  const kept = new Set<string>();
  const changed = new Set<string>();
  for (const { name, delivery } of keptMessages(names)) {
    const sealed = (await box.read(`${name}.sha256`))?.toString('utf8');
    const found = (await digestOf(box, name).catch(unreadable)) ?? 'unreadable';
    kept.add(delivery).add(`${delivery}.${found}`);
    if (sealed?.startsWith(`${found} `) && name.includes(`.${found.slice(0, 16)}.`)) continue;
    faults.push(
      sealed === undefined
        ? fault('message.hash_missing', name, 'has no hash beside it')
        : fault('message.changed', name, `has changed: SHA-256 ${found}`),
    );
    changed.add(delivery);
  }
  const missing = new Map<string, ArchiveFinding>();
  for (const { delivery, state, target } of told.receipts) {
    const left = /-(email|webhook)$/.test(target) && (state === 'sent' || state === 'unknown');
    if (!left || kept.has(delivery)) continue;
    missing.set(delivery, fault('message.missing', `messages/${delivery}`, 'is missing, though it was sent'));
  }
  for (const { delivery, epoch, message } of told.attempts) {
    if (message === undefined || kept.has(`${delivery}.${message}`)) continue;
    const what = `is missing, which attempt ${epoch} sent: SHA-256 ${message}`;
    missing.set(delivery, fault('message.missing', `messages/${delivery}`, what));
  }
  return [...faults, ...[...missing].flatMap(([delivery, found]) => (changed.has(delivery) ? [] : found))];
}

/** What tells of messages that left. */
interface Told {
  readonly receipts: readonly Receipt[];
  readonly attempts: readonly AttemptRecord[];
  /** What of it cannot be read. */
  readonly faults: readonly ArchiveFinding[];
}

async function readTold(box: RunBox): Promise<Told> {
  const faults: ArchiveFinding[] = [];
  const read = <T>(path: string, look: () => Promise<readonly T[]>): Promise<readonly T[]> =>
    look().catch((error: unknown) => {
      const text = inShort(error);
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
function inShort(error: unknown): string {
  const { code, message } = toDocketError(error);
  if (code === 'archive.unreachable') throw error;
  return message.replace(/^The archived run in .* is not what was sealed: /, '').replace(/\.$/, '');
}
