import { z } from 'zod';
import type { Pause } from '../../queue/pauses.ts';

/** A pause as the admin route shows it. */
export const pauseSchema = z
  .object({
    organization: z.string(),
    report: z.string().nullable().describe('null: all reports of the organization.'),
    who: z.string().describe('Name of a token or of a shell’s user; `docket` where it did so itself.'),
    why: z.string(),
    since: z.iso.datetime(),
    key: z.string().nullable().describe('Fingerprint of the API key that was refused; null where a person paused it.'),
    run: z.string().nullable().describe('The run that was refused.'),
  })
  .meta({ id: 'Pause' });

export const pauseView = ({ org, report, who, why, since, key, run }: Pause): z.infer<typeof pauseSchema> => ({
  organization: org,
  report,
  who,
  why,
  since: new Date(since).toISOString(),
  key,
  run,
});
