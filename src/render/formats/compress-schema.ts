import { z } from 'zod';

/** The field `compress` for outputs that are data files. */
export const compressSchema = z
  .enum(['gzip', 'zip'])
  .optional()
  .describe(
    'gzip: each file is compressed and its name ends in .gz. zip: all files of the output are in one zip. Default: neither.',
  );
