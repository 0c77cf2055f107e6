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
    ...(await faultOf(() => readAttempts(box))),
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
  const kept = keptMessages(names);
  for (const name of kept.values()) {
    const sealed = (await box.read(`${name}.sha256`))?.toString('utf8');
    const found = (await digestOf(box, name).catch(unreadable)) ?? 'unreadable';
    if (sealed === undefined) faults.push(`${name} has no hash beside it`);
    else if (!sealed.startsWith(`${found} `)) faults.push(`${name} has changed: SHA-256 ${found}`);
  }
  try {
    for (const { delivery, state, messageId } of await readReceipts(box)) {
      const left = messageId !== null && (state === 'sent' || state === 'unknown');
      if (left && !kept.has(delivery)) faults.push(`messages/${delivery}.eml is missing, though it was sent`);
    }
  } catch (error) {
    faults.push(inShort(error));
  }
  return faults;
}

/** A disk or a store that cannot be asked at all is no fault of the run. */
function unreadable(error: unknown): undefined {
  if (toDocketError(error).code === 'archive.unreachable') throw error;
  return undefined;
}

async function faultOf(look: () => Promise<unknown>): Promise<string[]> {
  try {
    await look();
    return [];
  } catch (error) {
    return [inShort(error)];
  }
}

/** An `archive.corrupt` names the place in its sentence; a list of faults has it in front already. */
function inShort(error: unknown): string {
  const { code, message } = toDocketError(error);
  if (code === 'archive.unreachable') throw error;
  return message.replace(/^The archived run in .* is not what was sealed: /, '').replace(/\.$/, '');
}
