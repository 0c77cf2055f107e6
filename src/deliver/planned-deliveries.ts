import { recipientFault } from '../define/recipients.ts';
import { ARTIFACT_FORMATS, type Artifact, MEDIA_TYPES } from '../render/artifact.ts';
import type { Manifest, Sealed } from './archive.ts';
import { decisionOn } from './decision.ts';
import { type DeliveryContext, listDeliveries } from './targets.ts';

/** A delivery that has not been made. */
export interface PlannedDelivery {
  /** Position and kind in the definition, e.g. `0-email`. */
  readonly target: string;
  /** An address, or where the files go. */
  readonly recipient: string;
  /** Whether it would be sent. */
  readonly receives: boolean;
  /** Why it would not. */
  readonly why: string | null;
}

/**
 * Who would receive a sealed run if it was delivered now: the targets and recipients of its definition, as `deliver` goes
 * through them, with those that the organization's allow-list refuses or whose `send_if` is not met. Asks nobody anything.
 */
export function plannedDeliveries(
  manifest: Manifest,
  context: Omit<DeliveryContext, 'sealed' | 'mail'>,
): readonly PlannedDelivery[] {
  const { recipients } = context.settings;
  return listDeliveries({ ...context, sealed: unopened(manifest), mail: undefined }).map(({ row }) => {
    const { target, recipient } = row;
    const decision = decisionOn(manifest, row);
    if (decision?.send === false) return { target, recipient, receives: false, why: decision.reason };
    const fault = target.endsWith('-email') ? recipientFault(recipient, recipients) : undefined;
    return { target, recipient, receives: fault === undefined, why: fault === undefined ? null : `It ${fault}.` };
  });
}

/** The run as its manifest names its files, for whoever does not read them. */
const unopened = (manifest: Manifest): Sealed => ({
  folder: '',
  manifest,
  artifacts: manifest.files.flatMap(({ name, format, bytes, sha256 }): Artifact[] => {
    const known = ARTIFACT_FORMATS.find((each) => each === format);
    return known === undefined ? [] : [{ name, format: known, mediaType: MEDIA_TYPES[known], path: '', bytes, sha256 }];
  }),
  mail: { html: '', text: '', pictures: [] },
});
