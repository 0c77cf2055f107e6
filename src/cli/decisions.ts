import type { AppContext } from '../base/context.ts';
import { type DecisionContext, openDecisions } from '../compose/decisions.ts';

/**
 * Opens runs and deliveries of `REDIS_URL` for as long as `use` takes.
 *
 * @param options.decides checks first that Redis and the archive belong to one deployment
 */
export async function withDecisions<T>(
  context: AppContext,
  use: (decisions: DecisionContext) => Promise<T>,
  options: Parameters<typeof openDecisions>[1] = {},
): Promise<T> {
  const opened = await openDecisions(context, options);
  try {
    return await use(opened);
  } finally {
    await opened.scope.close();
  }
}
