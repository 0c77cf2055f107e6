import { done, type Outcome } from '../../base/outcome.ts';
import { withComments } from '../../render/figures/comments/printed-comments.ts';
import { compareEditions } from '../corrections/compare-editions.ts';
import { findReplaced, MAX_AUTOMATIC_EDITIONS, markRepeated } from '../corrections/corrected-edition.ts';
import { editionSections } from '../corrections/edition-figures.ts';
import { resolveLocale } from '../judged-dataset.ts';
import type { RunContext, RunPorts } from '../run-context.ts';
import type { RunOrder } from '../run-record.ts';
import type { PackFigures, SplitFigures } from './frozen-split.ts';

/**
 * Selects the packs of a corrected edition, and adds to each what has changed and who receives it. These are the packs
 * with material changes, and those whose delivery a person withdrew. A person who corrects more than figures sends
 * every pack that somebody has received. Docket alone sends each pack a limited number of times. In any other run, marks
 * the packs that are repeated copies. Each pack counts its own editions, so that it reveals nothing about other packs.
 * Whoever has a pack gets its correction, even if nobody is named for the value now. Snoozes as `findReplaced`.
 */
export async function correctedPacks(
  figures: SplitFigures,
  order: RunOrder,
  context: RunContext,
  ports: RunPorts,
): Promise<Outcome<SplitFigures>> {
  const { corrects, repeats } = order;
  if (corrects === undefined) {
    const packs = figures.packs.map((pack): PackFigures => {
      const { dataset: read } = pack;
      return { ...pack, dataset: read && (async (folder) => markRepeated(await read(folder), repeats)) };
    });
    return done({ ...figures, packs });
  }
  const found = await findReplaced({ ...order, corrects }, ports);
  if (found.kind !== 'done') return found;
  const { figures: before, packs: replaced, byHand } = found.value;
  const compared: { readonly pack: PackFigures; readonly isChanged: boolean; readonly isOpen: boolean }[] = [];
  for (const pack of figures.packs) {
    const { desk, dataset: read } = pack;
    const old = replaced?.get(desk.value);
    if (old === undefined || read === undefined) continue;
    const { run, at, edition, automatic, recipients, unmarked } = old;
    if (recipients.length + unmarked.length === 0 || automatic > MAX_AUTOMATIC_EDITIONS) continue;
    const kept = before?.packs?.find(({ value }) => value === desk.value);
    const sections = editionSections(await read(), context.definition.sections);
    const { changes, material } =
      before === undefined || kept === undefined
        ? { changes: [], material: 0 }
        : compareEditions({ ...kept, corrections: before.corrections }, sections);
    const correction = {
      replaces: { run, at: new Date(at).toISOString() },
      edition,
      automatic,
      changes,
      recipients,
      ...(byHand && { reason: byHand.reason, unmarked }),
      ...(kept !== undefined && kept.sections.length > 0 && changes.length === 0 && { unchanged: true as const }),
    };
    const typed = byHand?.comment === undefined ? [] : [byHand.comment];
    const dataset = async (folder?: string) =>
      withComments({ ...(await read(folder)), correction }, typed, resolveLocale(context));
    compared.push({ pack: { desk, dataset }, isChanged: material > 0, isOpen: unmarked.length > 0 });
  }
  const isRedefined = before?.digest !== order.digest || byHand?.comment !== undefined;
  const isOfAll = byHand !== undefined && (isRedefined || compared.every(({ isChanged }) => !isChanged));
  const chosen = compared.filter(({ isChanged, isOpen }) => isOfAll || isChanged || (byHand !== undefined && isOpen));
  return done({ ...figures, packs: chosen.map(({ pack }) => pack), unassigned: [] });
}
