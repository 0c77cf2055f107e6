import { DocketError } from '../base/error.ts';
import { describeDelivery } from '../definitions/schema/kinds.ts';
import { deskDefinition, heldTarget, UNASSIGNED_TARGET } from '../definitions/split.ts';
import type { Archive } from './archive/archive.ts';
import type { Manifest } from './archive/manifest.ts';
import { readFileSets, readPack } from './archive/run-folder/pack-files.ts';
import type { Outage } from './circuit/circuit-breaker.ts';
import { outageTracker } from './circuit/outage-tracker.ts';
import { type DeliverInput, type DeliveryResult, deliver } from './deliver.ts';
import { deliveryId, type Receipt } from './ledger/ledger.ts';
import { plannedDeliveries } from './planned-deliveries.ts';
import { TARGETS } from './targets/registry.ts';

/** Wraps the delivery of one manifest. */
export type AroundDelivery = (manifest: Manifest, work: () => Promise<DeliveryResult>) => Promise<DeliveryResult>;

/**
 * Delivers a published run: as a whole, or, with `split`, each pack in turn. Each pack is delivered like a run of its
 * own, with a definition that names no other value, so that one value's data cannot reach another value's recipients.
 * Target names and delivery ids include the value. Throws as `deliver`.
 */
export async function deliverPacks(input: DeliverInput, around: AroundDelivery): Promise<DeliveryResult> {
  const { published, archive, definition } = input;
  const { packs, unassigned = [] } = published.manifest;
  if (packs === undefined) return deliverFileSets(input, around, await readFileSets(published));
  assertOwnPlaces(input);
  const archived = await archive.getArchivedStates(published);
  const receipts: Receipt[] = [];
  const waits: (Outage | undefined)[] = [];
  const outages = outageTracker(input.clock, input.circuit, input.askedAt);
  let claimed: Promise<void> | undefined;
  const claim: DeliverInput['claim'] =
    input.claim && ((hasBegun) => (claimed ??= input.claim?.(hasBegun) ?? Promise.resolve()));
  try {
    for (const pack of packs) {
      if (pack.state === 'held' || pack.manifest === undefined) {
        receipts.push(heldReceipt(input, heldTarget(pack), pack.label, pack.reason ?? ''));
        continue;
      }
      const view = await readPack(published, pack);
      const own: Receipt[] = [];
      try {
        const ofPack = {
          ...input,
          ...(claim === undefined ? {} : { claim }),
          outages,
          published: view,
          definition: deskDefinition(definition, pack),
          archive: packArchive(archive, pack, archived, own),
        };
        const unmarked = pack.manifest.unmarked && (await readPack(published, pack.manifest.unmarked));
        const result = await deliverFileSets(ofPack, around, { marked: view, unmarked }, archive);
        if (result.retryable) waits.push(result.outage);
      } finally {
        receipts.push(...own);
      }
    }
    for (const [index, detail] of unassigned.entries()) {
      receipts.push(heldReceipt(input, UNASSIGNED_TARGET, `#${index + 1}`, detail));
    }
  } finally {
    if (receipts.length > 0) await archive.putReceipts(published, receipts);
  }
  const known = waits.filter((wait) => wait !== undefined);
  const [outage] = known.toSorted((one, other) => one.until - other.until);
  return { receipts, retryable: waits.length > 0, outage: known.length === waits.length ? outage : undefined };
}

/**
 * Throws `deliver.target_refused`, before anything is sent, if two packs would write to the same place, however their
 * paths are spelled.
 */
function assertOwnPlaces({ published: { manifest }, definition, ...input }: DeliverInput): void {
  const { targets = TARGETS } = input;
  const seen = new Map<string, string>();
  const context = { workingDirectory: process.cwd(), ...input, definition };
  for (const { target, recipient } of plannedDeliveries(manifest, context, targets)) {
    const delivery = definition.deliveries[Number.parseInt(target, 10)];
    if (delivery === undefined || describeDelivery(delivery, targets).writes === undefined) continue;
    const [, pack = ''] = target.split(':');
    const first = seen.get(recipient) ?? pack;
    if (first !== pack) {
      throw new DocketError('deliver.target_refused', 'Two packs would be written to the same place.', {
        where: recipient,
        expected: 'a different place for each value',
        got: `${first} and ${pack}`,
        next: 'Put {{ split.slug }} into the path. Nothing was sent.',
        retryable: false,
      });
    }
    seen.set(recipient, pack);
  }
}

/**
 * Delivers a corrected edition: the marked files to recipients who have the replaced edition, and the unmarked files to
 * recipients whose delivery of it was withdrawn. Each set has a decision for every recipient. Any other run has one
 * set.
 * @param ofRun an archive that links to files by their names in the run
 */
async function deliverFileSets(
  input: DeliverInput,
  around: AroundDelivery,
  { marked, unmarked }: Awaited<ReturnType<typeof readFileSets>>,
  ofRun = input.archive,
): Promise<DeliveryResult> {
  const { published, archive, observe } = input;
  if (unmarked === undefined) return around(published.manifest, () => deliver(input));
  const archived = await archive.getArchivedStates(published);
  // Recipients that people add get the marked set only.
  const planned = new Map([...archived].map(([id, { added: _, ...state }]) => [id, state]));
  const found = new Map<string, Receipt>();
  const results: DeliveryResult[] = [];
  const outages = input.outages ?? outageTracker(input.clock, input.circuit, input.askedAt);
  const sets = [
    { view: marked, from: archive, slug: undefined, states: archived },
    { view: unmarked, from: ofRun, slug: published.manifest.unmarked?.slug, states: planned },
  ];
  try {
    for (const { view, from, slug, states } of sets) {
      const own: Receipt[] = [];
      const set = { ...input, outages, published: view, archive: packArchive(from, { slug }, states, own) };
      // A skipped delivery is not reported, because the other set may deliver to this recipient.
      const observed: DeliverInput['observe'] = (event) => (event.state === 'skipped' ? undefined : observe(event));
      try {
        results.push(await around(view.manifest, () => deliver({ ...set, observe: observed })));
      } finally {
        for (const receipt of own) {
          if (receipt.state !== 'skipped' || !found.has(receipt.delivery)) found.set(receipt.delivery, receipt);
        }
      }
    }
  } finally {
    if (found.size > 0) await archive.putReceipts(published, [...found.values()]);
  }
  const waiting = results.filter(({ retryable }) => retryable);
  const outage = waiting.every((each) => each.outage !== undefined) ? waiting[0]?.outage : undefined;
  return { receipts: [...found.values()], retryable: waiting.length > 0, outage };
}

/** The receipt of a held pack, for the list of deliveries. It has no ledger row, so a retry changes nothing. */
function heldReceipt({ order, observe }: DeliverInput, target: string, recipient: string, detail: string): Receipt {
  observe({ type: 'delivered', target, recipient, state: 'refused', detail });
  return { delivery: deliveryId(order.id, target, ''), target, recipient, state: 'refused', detail, messageId: null };
}

/**
 * The archive for the delivery of one pack: with the run's metadata and the pack's files.
 * @param own collects the pack's receipts, which are written together with those of the other packs
 */
const packArchive = (
  archive: Archive,
  { slug }: { readonly slug: string | undefined },
  archived: Awaited<ReturnType<Archive['getArchivedStates']>>,
  own: Receipt[],
): Archive => ({
  ...archive,
  getArchivedStates: async () => archived,
  putReceipts: async (_, receipts) => {
    own.push(...receipts);
  },
  ...(archive.link === undefined
    ? {}
    : { link: async (published, name) => archive.link?.(published, slug === undefined ? name : `${slug}/${name}`) }),
});
