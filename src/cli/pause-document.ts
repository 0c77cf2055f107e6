import type { Pause } from '../queue/pauses.ts';

/** A pause as `--json` prints it. Snake case, as the API and the manifest. */
export const pauseDocument = ({ org, who, why, since, key, run }: Pause) => ({
  organization: org,
  who,
  why,
  since: new Date(since).toISOString(),
  key,
  run,
});
