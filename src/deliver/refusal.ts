import { DocketError } from '../base/error.ts';

/** Whether a target could not be opened because it, or a secret for it, is refused: trying again changes nothing. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof DocketError && (error.code === 'deliver.target_refused' || error.code === 'config.secret_refused');
