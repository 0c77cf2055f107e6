import type { SecretSource } from '../base/secret.ts';
import type { WorkbookLook } from '../render/xlsx/workbook.ts';
import type { RunContext } from './ports.ts';

/**
 * What the workbooks of a report have of their organization's, the password revealed. Asked before the first call, so
 * that none is spent on a pack that cannot be made. Throws `config.secret_missing`.
 */
export async function workbookLook(
  { definition, settings }: Pick<RunContext, 'definition' | 'settings'>,
  secrets: SecretSource,
): Promise<WorkbookLook> {
  const [ref] = definition.outputs.flatMap((output) =>
    output.format === 'xlsx' && output.password !== undefined ? [output.password] : [],
  );
  return {
    logo: settings.logo,
    classification: definition.classification ?? settings.classification,
    password: ref === undefined ? undefined : (await secrets(ref)).reveal(),
  };
}
