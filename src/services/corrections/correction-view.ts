import { recipientRefusal } from '../../definitions/allow-lists/recipients.ts';
import { describeDelivery, kindOfTarget, targetName } from '../../definitions/schema/kinds.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { recipientKey } from '../../deliver/send-decision.ts';
import { TARGETS } from '../../deliver/targets/registry.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { isCappedPack } from './automatic-editions.ts';
import { selectRecipients } from './close-edition.ts';
import { type Correction, DOCKET } from './correction.ts';
import { type Edition, type EditionRecipient, findFigures, findPack, frozenOfCorrection } from './editions.ts';

/** A correction with everything that a decision needs. */
export interface CorrectionView extends Correction {
  /** Title and period of the edition, and when it was delivered (epoch ms). */
  readonly title: string;
  readonly period: { readonly from: string; readonly to: string; readonly timezone: string; readonly label: string };
  readonly deliveredAt: number | null;
  /** The recipients of the edition: who gets the corrected one, and why the others do not. */
  readonly recipients: readonly {
    readonly target: string;
    readonly recipient: string;
    readonly receives: boolean;
    readonly why: string | null;
    /** Whether this copy is marked as corrected. False if the delivery of the original was withdrawn. */
    readonly marked: boolean;
  }[];
  /** Metrics that changed, with their section's title and their unit (`count`, `ratio`, `seconds`). */
  readonly sections: readonly {
    readonly id: string;
    readonly title: string;
    readonly units: Readonly<Record<string, string | null>>;
  }[];
}

/** Whether the target's recipients are mailboxes, to which the allow-list applies. */
const hasMailboxes = (target: string): boolean =>
  TARGETS.some(({ kind, audience }) => kind === kindOfTarget(target) && audience?.people === true);

/** Who gets the edition of a correction that Docket found. With `split`: the recipients of the changed packs. */
export const correctedRecipients = (
  { values, decision }: Pick<Correction, 'values' | 'decision'>,
  edition: Edition,
): Edition['recipients'] => {
  const { recipients, packs } = edition;
  if (packs === undefined || values === undefined) return recipients;
  return recipients.filter((of) => {
    const pack = findPack(edition, of);
    return pack !== undefined && values.includes(pack.value) && !(decision?.by === DOCKET && isCappedPack(pack));
  });
};

/** @param edition the corrected edition */
export async function buildCorrectionView(
  correction: Correction,
  edition: Edition,
  deployment: Deployment,
): Promise<CorrectionView> {
  const { corrections, orgs } = deployment;
  const { manifest, deliveredAt, run } = edition;
  const { byHand } = correction;
  const redefinition = byHand?.redefined && (await frozenOfCorrection(run, byHand, deployment)).definition;
  const sets = byHand && (await selectRecipients(edition, redefinition, deployment));
  const { recipients, unmarked } = sets ?? { recipients: correctedRecipients(correction, edition), unmarked: [] };
  const allowed = orgs().get(run.org)?.recipients;
  const viewed = (of: EditionRecipient, marked: boolean) => {
    const { target, recipient } = of;
    const refusal = hasMailboxes(target) && allowed !== undefined ? recipientRefusal(recipient, allowed) : undefined;
    const why = refusal === undefined ? null : `It ${refusal}.`;
    return { target, recipient, receives: refusal === undefined, why, marked };
  };
  const others = edition.packs ? [] : newRecipients(redefinition, [...recipients, ...unmarked]);
  const figures = await findFigures(edition, corrections);
  const sections = [...(figures?.sections ?? []), ...(figures?.packs ?? []).flatMap((pack) => pack.sections)];
  const changed = new Set(correction.changes.map(({ section }) => section));
  return {
    ...correction,
    title: manifest.title,
    period: manifest.period,
    deliveredAt,
    recipients: [
      ...recipients.map((of) => viewed(of, true)),
      ...unmarked.map((of) => viewed(of, false)),
      ...others.map((of) => {
        const why = 'It is new in the definition: it has no edition that could be corrected.';
        return { ...of, receives: false, why, marked: false };
      }),
    ],
    sections: [...new Map(sections.map((section) => [section.id, section])).values()]
      .filter(({ id }) => changed.has(id))
      .map(({ id, title, metrics }) => ({
        id,
        title,
        units: Object.fromEntries(metrics.map(({ name, unit }) => [name, unit])),
      })),
  };
}

/** Mailboxes in another definition that have not received the edition: they do not get the corrected one. */
const newRecipients = (
  definition: Definition | undefined,
  known: readonly EditionRecipient[],
): readonly EditionRecipient[] => {
  const keys = new Set(known.map(({ recipient }) => recipientKey(recipient)));
  return (definition?.deliveries ?? []).flatMap((entry, index) => {
    const { kind, mailboxes = [] } = describeDelivery(entry, TARGETS);
    const added = mailboxes.filter(({ address }) => !keys.has(recipientKey(address)));
    return added.map(({ address }) => ({ target: targetName(index, kind), recipient: address }));
  });
};
