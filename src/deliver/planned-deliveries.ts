import { type Artifact, artifactKind } from '../render/artifact.ts';
import type { Manifest, PublishedRun } from './archive/archive.ts';
import { sendDecisionFor } from './send-decision.ts';
import { listDeliveries } from './targets/registry.ts';
import type { DeliveryContext, Target } from './targets/target.ts';

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
  context: Omit<DeliveryContext, 'published' | 'mail'>,
  targets?: readonly Target[],
): readonly PlannedDelivery[] {
  const published = fromManifest(manifest);
  return listDeliveries({ ...context, published, mail: undefined }, targets).map(({ row, recipientRefusal }) => {
    const { target, recipient } = row;
    const decision = sendDecisionFor(manifest, row);
    if (decision?.send === false) return { target, recipient, receives: false, why: decision.reason };
    const refusal = recipientRefusal?.();
    return { target, recipient, receives: refusal === undefined, why: refusal === undefined ? null : `It ${refusal}.` };
  });
}

/** The run as its manifest names its files, for whoever does not read them. */
const fromManifest = (manifest: Manifest): PublishedRun => ({
  folder: '',
  manifest,
  artifacts: manifest.files.map((file): Artifact => {
    const { name, format, bytes, sha256 } = file;
    return { name, format, ...artifactKind(file), path: '', bytes, sha256 };
  }),
  mail: { html: '', text: '', pictures: [] },
});
