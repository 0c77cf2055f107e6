/** A document as it is sent. @param element of hono/jsx, whose text it is */
export const document = async (element: unknown): Promise<string> => `<!DOCTYPE html>${String(await element)}`;
