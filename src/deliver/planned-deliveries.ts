import { recipientRefusal } from '../definitions/allow-lists/recipients.ts';
import { type Artifact, artifactKind } from '../render/artifact.ts';
import type { PublishedRun } from './archive/archive.ts';
import type { Manifest } from './archive/manifest.ts';
import { sendDecisionFor } from './send-decision.ts';
import { type DeliveryContext, listDeliveries } from './targets/registry.ts';

/** A delivery that is not made yet. */
export interface PlannedDelivery {
  /** Position and kind in the definition, e.g. `0-email`. */
  readonly target: string;
  /** An address, or the location of the files. */
  readonly recipient: string;
  readonly receives: boolean;
  /** The reason where it does not. */
  readonly why: string | null;
}

/**
 * The targets and recipients of a published run, as `deliver` would treat them: with those that the allow-list refuses or
 * whose `send_if` is not met. Makes no requests.
 */
export function plannedDeliveries(
  manifest: Manifest,
  context: Omit<DeliveryContext, 'published' | 'mail'>,
): readonly PlannedDelivery[] {
  const { recipients } = context.settings;
  return listDeliveries({ ...context, published: fromManifest(manifest), mail: undefined }).map(({ row }) => {
    const { target, recipient } = row;
    const decision = sendDecisionFor(manifest, row);
    if (decision?.send === false) return { target, recipient, receives: false, why: decision.reason };
    const refusal = target.endsWith('-email') ? recipientRefusal(recipient, recipients) : undefined;
    return { target, recipient, receives: refusal === undefined, why: refusal === undefined ? null : `It ${refusal}.` };
  });
}

/** A run with the file names of its manifest, without the files. */
const fromManifest = (manifest: Manifest): PublishedRun => ({
  folder: '',
  manifest,
  artifacts: manifest.files.map((file): Artifact => {
    const { name, format, bytes, sha256 } = file;
    return { name, format, ...artifactKind(file), path: '', bytes, sha256 };
  }),
  mail: { html: '', text: '', pictures: [] },
});
