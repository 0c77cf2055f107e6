import type { Diagnostic } from '../definitions/diagnostics/diagnostic.ts';
import { checkEmailTemplates } from './email/check-templates.ts';
import { checkPackTemplates } from './formats/pdf/check-templates.ts';

/**
 * Checks an organization's e-mail and PDF templates by filling each with sample data.
 * @param folder the value of `DOCKET_TEMPLATES`
 */
export const checkTemplates = async (folder: string): Promise<Diagnostic[]> => [
  ...checkEmailTemplates(folder),
  ...(await checkPackTemplates(folder)),
];
