import { readFileSync } from 'node:fs';
import { z } from 'zod';

const manifestSchema = z.object({ version: z.string() });

/** Docket's own, of the package that runs. */
export const version = (): string =>
  manifestSchema.parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))).version;
