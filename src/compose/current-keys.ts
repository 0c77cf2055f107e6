import type { SecretSource } from '../base/secret.ts';
import type { JobsInForce } from '../define/in-force.ts';

/**
 * Fingerprint of the key that an organization has now, read anew each time, so that a rotated key is noticed; undefined
 * where it cannot be resolved.
 */
export const currentKeys =
  (jobs: JobsInForce, secrets: SecretSource) =>
  async (org: string): Promise<string | undefined> => {
    const settings = jobs.now().orgs.get(org);
    const secret = settings === undefined ? undefined : await secrets(settings.api_key).catch(() => undefined);
    return secret?.fingerprint();
  };
