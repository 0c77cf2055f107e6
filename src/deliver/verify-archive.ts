import { toDocketError } from '../base/error.ts';
import type { Manifest } from './archive.ts';
import { keptMessages, readAttempts, readReceipts } from './kept-attempts.ts';
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
  const names = await box.names();
  return [
    ...placeFaults(run, manifest),
    ...(await sealedFaults(box, manifest)),
    ...strangers(names, manifest),
    ...(await messageFaults(box, names)),
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

async function messageFaults(box: RunBox, names: readonly string[]): Promise<string[]> {
  const faults: string[] = [];
  const kept = new Set<string>();
  const changed = new Set<string>();
  for (const { name, delivery } of keptMessages(names)) {
    const sealed = (await box.read(`${name}.sha256`))?.toString('utf8');
    const found = (await digestOf(box, name).catch(unreadable)) ?? 'unreadable';
    kept.add(delivery).add(`${delivery}.${found}`);
    const fault =
      sealed === undefined
        ? `${name} has no hash beside it`
        : sealed.startsWith(`${found} `) && name.includes(`.${found.slice(0, 16)}.`)
          ? undefined
          : `${name} has changed: SHA-256 ${found}`;
    if (fault === undefined) continue;
    faults.push(fault);
    changed.add(delivery);
  }
  const missing = await missingMessages(box, names, kept);
  return [...faults, ...missing.flatMap(({ delivery, fault }) => (changed.has(delivery) ? [] : fault))];
}

interface Missing {
  readonly delivery: string;
  readonly fault: string;
}

/** Messages that attempts, hashes or receipts tell of, one fault a delivery. @param kept by delivery, and by `<delivery>.<SHA-256>` */
async function missingMessages(
  box: RunBox,
  names: readonly string[],
  kept: ReadonlySet<string>,
): Promise<readonly Missing[]> {
  const found: Missing[] = [];
  const broken: Missing[] = [];
  const note = async (look: () => Promise<void>): Promise<void> => {
    await look().catch((error: unknown) => broken.push({ delivery: '', fault: inShort(error) }));
  };
  await note(async () => {
    for (const { delivery, state, target } of await readReceipts(box)) {
      const left = /-(email|webhook)$/.test(target) && (state === 'sent' || state === 'unknown');
      if (!left || kept.has(delivery)) continue;
      found.push({ delivery, fault: `messages/${delivery} is missing, though it was sent` });
    }
  });
  await note(async () => {
    for (const { delivery, epoch, message } of await readAttempts(box)) {
      if (message === undefined || kept.has(`${delivery}.${message}`)) continue;
      found.push({
        delivery,
        fault: `messages/${delivery} is missing, which attempt ${epoch} sent: SHA-256 ${message}`,
      });
    }
  });
  for (const hash of names.filter((name) => /^messages\/.+\.sha256$/.test(name))) {
    const name = hash.slice(0, -'.sha256'.length);
    const [delivery = ''] = name.slice('messages/'.length).split('.');
    if (!names.includes(name)) found.push({ delivery, fault: `${name} is missing, of which the hash is there` });
  }
  // The last says it best.
  return [...broken, ...new Map(found.map((one) => [one.delivery, one] as const)).values()];
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
