import { DocketError } from '../../base/error.ts';
import type { CorrectionEvent } from '../../deliver/archive/corrections/correction-event.ts';
import type { Manifest } from '../../deliver/archive/manifest.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import type { EditionStore, OutputFileBytes, ReplacedEdition } from '../../run/corrections/corrected-edition.ts';
import type { RunOrder } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { closeEdition, selectRecipients } from './close-edition.ts';
import { DOCKET } from './correction.ts';
import {
  type Edition,
  type EditionRecipient,
  findFigures,
  frozenOfCorrection,
  loadEdition,
  loadFigures,
} from './editions.ts';

type Numbers = Pick<ReplacedEdition, 'edition' | 'automatic'>;

/** The decision to send a corrected edition with this run. */
const decisionFor = (run: string, events: readonly CorrectionEvent[]) =>
  events.flatMap((event) => ((event.type === 'sent' || event.type === 'opened') && event.run === run ? event : []))[0];

/** The numbers of the edition that this decision sends. */
const nextNumbers = ({ edition, automatic }: Numbers, decision: { readonly by: string } | undefined): Numbers => ({
  edition: edition + 1,
  automatic: automatic + (decision?.by === DOCKET ? 1 : 0),
});

/** Which edition a run is. Older manifests do not say, so it is counted along `corrects` back to the original. */
async function resolveNumbers(
  run: RunRef,
  { corrects }: Pick<Manifest, 'corrects'>,
  ports: Deployment,
): Promise<Numbers> {
  if (corrects === undefined) return { edition: 1, automatic: 0 };
  const { edition, automatic } = corrects;
  if (edition !== undefined && automatic !== undefined) return { edition, automatic };
  const before: RunRef = { ...run, id: corrects.run };
  const published = await ports.archive.peek(before);
  const numbers = await resolveNumbers(before, published?.manifest ?? {}, ports);
  return nextNumbers(numbers, decisionFor(run.id, await ports.corrections.events(before)));
}

/** Who gets the packs, and which edition each is: each value's packs are counted separately. */
const buildPacks = (
  { packs }: Edition,
  decision: { readonly by: string } | undefined,
  { recipients, unmarked }: Awaited<ReturnType<typeof selectRecipients>>,
): ReplacedEdition['packs'] =>
  packs &&
  new Map(
    packs.map(({ value, slug, run, at, manifest: { corrects } }) => {
      const isForPack = ({ target }: EditionRecipient): boolean => target.endsWith(`:${slug}`);
      const numbers = nextNumbers({ edition: corrects?.edition ?? 1, automatic: corrects?.automatic ?? 0 }, decision);
      return [
        value,
        { run, at, ...numbers, recipients: recipients.filter(isForPack), unmarked: unmarked.filter(isForPack) },
      ];
    }),
  );

/**
 * Throws `correction.conflict` if a later correction of the edition was decided: two editions would go to the same
 * people.
 */
function assertNotSuperseded(decision: ReturnType<typeof decisionFor>, events: readonly CorrectionEvent[]): void {
  const later = events.find((event) => 'run' in event && event.correction > (decision?.correction ?? Infinity));
  if (later === undefined || !('run' in later)) return;
  throw new DocketError('correction.conflict', `Run ${later.run} sends the corrected edition in place of this run.`, {
    next: `See \`docket runs show ${later.run}\`.`,
  });
}

/** Stores figures for a worker's runs, and finds the edition that a run replaces. */
export function createEditionStore(ports: Deployment): EditionStore {
  const { corrections } = ports;
  const requireReplaced = async ({ id, org, report, corrects }: RunOrder & { readonly corrects: string }) => {
    const run: RunRef = { id: corrects, org, report };
    const events = await corrections.events(run);
    const decision = decisionFor(id, events);
    assertNotSuperseded(decision, events);
    const opened = decision?.type === 'opened' ? decision : undefined;
    const sending =
      opened && (await closeEdition(run, opened, ports)).filter(({ state }) => state === 'sending').length;
    const edition = decision ? await loadEdition(run, ports) : undefined;
    if (edition === undefined || (edition.deliveredAt === null && opened === undefined)) {
      throw new DocketError('correction.not_found', `Nobody decided that this run replaces edition ${corrects}.`, {
        where: `${org}/${report}`,
        next: '`docket corrections` lists what can be corrected.',
      });
    }
    const { manifest } = edition;
    const replaced = {
      run,
      // If Docket found the changes, it compared these figures, so they must exist.
      figures: await (opened ? findFigures : loadFigures)(edition, corrections),
      at: edition.deliveredAt ?? Date.parse(manifest.made_at),
      ...nextNumbers(await resolveNumbers(run, manifest, ports), decision),
    };
    if (opened === undefined) {
      const { recipients } = edition;
      return { ...replaced, recipients, packs: buildPacks(edition, decision, { recipients, unmarked: [] }) };
    }
    const { by: author, at, reason, comment: text } = opened;
    const comment = text === undefined ? {} : { comment: { section: null, text, author, at } };
    const byHand = { reason, sending: sending ?? 0, ...comment };
    const redefinition = opened.redefined && (await frozenOfCorrection(run, opened, ports)).definition;
    const { recipients, unmarked } = await selectRecipients(edition, redefinition, ports);
    return {
      ...replaced,
      recipients,
      packs: buildPacks(edition, decision, { recipients, unmarked }),
      byHand: { ...byHand, unmarked },
    };
  };
  return {
    putFigures: ({ id, org, report }, text) => corrections.putFigures({ id, org, report }, text),
    putFile: ({ id, org, report }, bytes) => corrections.putFile({ id, org, report }, bytes),
    replacedBy: async (order) => {
      const { run: _, ...replaced } = await requireReplaced(order);
      return replaced;
    },
    closeIfReplaced: async ({ id, org, report }) => {
      const run: RunRef = { id, org, report };
      const opened = (await corrections.events(run)).find((event) => event.type === 'opened');
      if (opened !== undefined) await closeEdition(run, opened, ports);
    },
    filesReplacedBy: async (order) => {
      const { run, figures } = await requireReplaced(order);
      const files: OutputFileBytes[] = [];
      // A changed definition uses its own files.
      for (const [name, hash] of Object.entries(figures?.digest === order.digest ? (figures.files ?? {}) : {}))
        files.push({ name, bytes: await corrections.getFile(run, hash) });
      return files;
    },
  };
}
