import { toDocketError } from '../base/error.ts';
import type { AttemptRecord, Manifest } from './archive.ts';
import { keptMessages, readAttempts, readReceipts } from './kept-attempts.ts';
import type { Receipt } from './receipt.ts';
import { digestOf, readManifest } from './run-papers.ts';
import type { RunBox, RunName, Shelved } from './shelf.ts';

/**
 * What is wrong with an archived run, each fault in a line; none when every byte is what was sealed and sent. Looks at
 * the manifest, every file, the e-mail, every message that left, receipts and attempts.
 */
export async function verifyShelved(run: Pick<Shelved, keyof RunName | 'box'>): Promise<readonly string[]> {
  const { box } = run;
  let manifest: Manifest | undefined;
  try {
    manifest = await readManifest(box);
  } catch (error) {
    return [inShort(error)];
  }
  if (manifest === undefined) return ['manifest.json is missing'];
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

function placeFaults({ id, org, report }: RunName, manifest: Manifest): string[] {
  const says = `${manifest.org}/${manifest.report}/${manifest.run}`;
  return says === `${org}/${report}/${id}` ? [] : [`manifest.json is of another run: ${says}`];
}

async function sealedFaults(box: RunBox, { files, mail }: Manifest): Promise<string[]> {
  const faults: string[] = [];
  const sealed: readonly (readonly [name: string, sha256: string | undefined])[] = [
    ...files.map(({ name, sha256 }) => [`files/${name}`, sha256] as const),
    ['mail.html', mail?.html_sha256],
    ['mail.txt', mail?.text_sha256],
    ...(mail?.pictures ?? []).map(({ name, sha256 }) => [name, sha256] as const),
  ];
  for (const [name, sha256] of sealed) {
    const found = await digestOf(box, name).catch(unreadable);
    if (found === undefined) faults.push(`${name} is missing or cannot be read`);
    else if (sha256 !== undefined && found !== sha256) {
      faults.push(`${name} has changed: SHA-256 ${found} instead of ${sha256}`);
    }
  }
  return faults;
}

function strangers(names: readonly string[], { files }: Manifest): string[] {
  const sealed = new Set(files.map(({ name }) => `files/${name}`));
  return names
    .filter((name) => name.startsWith('files/') && !sealed.has(name))
    .map((name) => `${name} is not of this run`);
}

async function messageFaults(box: RunBox, names: readonly string[], told: Told): Promise<string[]> {
  const faults: string[] = [];
  const kept = new Set<string>();
  const changed = new Set<string>();
  for (const { name, delivery } of keptMessages(names)) {
    const sealed = (await box.read(`${name}.sha256`))?.toString('utf8');
    const found = (await digestOf(box, name).catch(unreadable)) ?? 'unreadable';
    kept.add(delivery).add(`${delivery}.${found}`);
    if (sealed?.startsWith(`${found} `) && name.includes(`.${found.slice(0, 16)}.`)) continue;
    faults.push(sealed === undefined ? `${name} has no hash beside it` : `${name} has changed: SHA-256 ${found}`);
    changed.add(delivery);
  }
  const missing = new Map<string, string>();
  for (const { delivery, state, target } of told.receipts) {
    const left = /-(email|webhook)$/.test(target) && (state === 'sent' || state === 'unknown');
    if (left && !kept.has(delivery)) missing.set(delivery, `messages/${delivery} is missing, though it was sent`);
  }
  for (const { delivery, epoch, message } of told.attempts) {
    if (message === undefined || kept.has(`${delivery}.${message}`)) continue;
    missing.set(delivery, `messages/${delivery} is missing, which attempt ${epoch} sent: SHA-256 ${message}`);
  }
  return [...faults, ...[...missing].flatMap(([delivery, fault]) => (changed.has(delivery) ? [] : fault))];
}

/** What tells of messages that left. */
interface Told {
  readonly receipts: readonly Receipt[];
  readonly attempts: readonly AttemptRecord[];
  /** What of it cannot be read. */
  readonly faults: readonly string[];
}

async function readTold(box: RunBox): Promise<Told> {
  const faults: string[] = [];
  const read = <T>(look: () => Promise<readonly T[]>): Promise<readonly T[]> =>
    look().catch((error: unknown) => {
      faults.push(inShort(error));
      return [];
    });
  return { receipts: await read(() => readReceipts(box)), attempts: await read(() => readAttempts(box)), faults };
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
