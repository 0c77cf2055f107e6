import { deskDefinition, heldTarget } from '../definitions/split.ts';
import { type Artifact, artifactKind } from '../render/artifact.ts';
import type { PublishedRun } from './archive/archive.ts';
import type { Manifest } from './archive/manifest.ts';
import { CORRECTION_CONDITIONS, sendDecisionFor } from './send-decision.ts';
import { listDeliveries } from './targets/registry.ts';
import type { DeliveryContext, Target } from './targets/target.ts';

/** A delivery that has not been made. */
export interface PlannedDelivery {
  /** Position and kind in the definition, e.g. `0-email`. */
  readonly target: string;
  /** An address, or where the files go. */
  readonly recipient: string;
  readonly receives: boolean;
  /** Why it would not be sent; null if it would. */
  readonly why: string | null;
}

/**
 * The deliveries that `deliver` would make for a published run, including those that the allow-list refuses or whose
 * `send_if` is not met. Makes no requests.
 */
export function plannedDeliveries(
  manifest: Manifest,
  context: Omit<DeliveryContext, 'published' | 'mail'>,
  targets?: readonly Target[],
): readonly PlannedDelivery[] {
  if (manifest.packs !== undefined) {
    return manifest.packs.flatMap((pack): readonly PlannedDelivery[] => {
      if (pack.state === 'held' || pack.manifest === undefined) {
        return [{ target: heldTarget(pack), recipient: pack.label, receives: false, why: pack.reason ?? null }];
      }
      const definition = deskDefinition(context.definition, pack);
      return plannedDeliveries(pack.manifest, { ...context, definition }, targets);
    });
  }
  const published = fromManifest(manifest);
  return listDeliveries({ ...context, published, mail: undefined }, targets).map(({ row, recipientRefusal }) => {
    const { target, recipient } = row;
    const decision = sendDecisionFor(manifest, row);
    const isUnmarked = decision?.send_if === CORRECTION_CONDITIONS.unmarked;
    if (decision?.send === false && !isUnmarked) return { target, recipient, receives: false, why: decision.reason };
    const refusal = recipientRefusal?.();
    return { target, recipient, receives: refusal === undefined, why: refusal === undefined ? null : `It ${refusal}.` };
  });
}

/** A run with the file names from its manifest, but without the files. */
const fromManifest = (manifest: Manifest): PublishedRun => ({
  folder: '',
  manifest,
  artifacts: manifest.files.map((file): Artifact => {
    const { name, format, bytes, sha256 } = file;
    return { name, format, ...artifactKind(file), path: '', bytes, sha256 };
  }),
  mail: { html: '', text: '', pictures: [] },
});
