import type { HeldPack } from '../admin/access.ts';
import type { Clock } from '../base/clock.ts';
import { toDocketError } from '../base/error.ts';
import type { SecretSource } from '../base/secret.ts';
import type { OrgSettings } from '../define/org.ts';
import type { Archive } from '../deliver/archive.ts';
import type { Ledger } from '../deliver/ledger.ts';
import { plannedDeliveries } from '../deliver/planned-deliveries.ts';
import type { DefinitionStore, FrozenDefinition } from '../queue/definition-store.ts';
import type { RunOrder } from '../run/record.ts';

export interface HeldPackPorts {
  readonly definitions: Pick<DefinitionStore, 'get'>;
  readonly archive: Archive;
  readonly ledger: Ledger;
  readonly secrets: SecretSource;
  readonly clock: Clock;
  /** An organization's settings as they are now; undefined where they are not known. */
  readonly settingsNow: (org: string) => OrgSettings | undefined;
  readonly workingDirectory?: string | undefined;
}

/**
 * What is missing in a sealed run's files, and who would receive them if they went out now: as the run's own definition
 * says, and by the allow-list of now, as a worker goes by. Undefined where the run's files are not in the archive. Throws
 * `archive.*`, `redis.unreachable`.
 */
export async function heldPack(
  run: RunOrder,
  { definitions, settingsNow, workingDirectory = process.cwd(), ...ports }: HeldPackPorts,
): Promise<Omit<HeldPack, 'error'> | undefined> {
  const [sealed, frozen] = await Promise.all([ports.archive.peek(run), frozenOf(run, definitions)]);
  if (sealed === undefined) return undefined;
  const { manifest } = sealed;
  const titleOf = (id: string) => frozen?.definition.sections.find((section) => section.id === id)?.title ?? null;
  const missing = manifest.incomplete.map(({ section, code, text }) => ({
    section,
    title: titleOf(section),
    code,
    text,
  }));
  if (frozen === undefined) return { missing, recipients: null };
  const { definition, settings: before } = frozen;
  const settings = { ...before, recipients: settingsNow(run.org)?.recipients ?? before.recipients };
  return { missing, recipients: plannedDeliveries(manifest, { ...ports, definition, settings, workingDirectory }) };
}

/** The definition of the run; undefined where it is kept no longer, or cannot be read by this version of Docket. */
async function frozenOf(
  { org, report, digest }: RunOrder,
  definitions: Pick<DefinitionStore, 'get'>,
): Promise<FrozenDefinition | undefined> {
  const frozen = await definitions.get(digest).catch((thrown: unknown) => {
    if (toDocketError(thrown).code === 'definition.invalid') return undefined;
    throw thrown;
  });
  return frozen?.definition.org === org && frozen.definition.report === report ? frozen : undefined;
}
