import type { Pause } from '../queue/pauses.ts';

/** A pause as `--json` prints it. Snake case, as the API and the manifest. */
export const pauseDocument = ({ org, report, who, why, since, key, run }: Pause) => ({
  organization: org,
  report,
  who,
  why,
  since: new Date(since).toISOString(),
  key,
  run,
});

/** A pause in two lines: what, since when, by whom and why; and how it ends. */
export function pauseLines({ org, report, who, why, since, key }: Pause): readonly [string, string] {
  const name = report === null ? org : `${org}/${report}`;
  const resume = `\`docket resume ${name}\``;
  return [
    `${name} is paused since ${new Date(since).toISOString()} by ${who}: ${why}`,
    `Its slots wait; they go on ${key === null ? `after ${resume}` : `with another API key, or after ${resume}`}.`,
  ];
}
