import type { Pause } from '../../queue/schedules/pauses.ts';

/** The JSON document. Snake case, as the API. */
export const pauseToJson = ({ org, report, who, why, since, key, run }: Pause) => ({
  organization: org,
  report,
  who,
  why,
  since: new Date(since).toISOString(),
  key,
  run,
});

/** Two lines: target, start, author and reason; and how the pause ends. */
export function formatPause({ org, report, who, why, since, key }: Pause): readonly [string, string] {
  const name = report === null ? org : `${org}/${report}`;
  const resume = `\`docket resume ${name}\``;
  return [
    `${name} is paused since ${new Date(since).toISOString()} by ${who}: ${why}`,
    `Its slots wait until ${key === null ? resume : `the API key changes, or ${resume}`}.`,
  ];
}
