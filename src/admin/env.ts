import type { IncomingMessage } from 'node:http';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Access } from './access.ts';
import type { Client } from './auth/client.ts';
import type { Session } from './auth/sessions.ts';
import type { Principal } from './auth/tokens.ts';
import { problem } from './problem.ts';

/** What handlers of the route have beside the request; `incoming` is there behind a real server. */
export interface Env {
  Bindings: { readonly incoming?: IncomingMessage };
  Variables: {
    client: Client;
    principal: Principal;
    /** Where a session of the page let the principal in, rather than a token. */
    session: Session | undefined;
    /** Whether the token is accepted still, for the same: for an answer that goes on for long. */
    stillAccepted: () => Promise<boolean>;
    /** What the principal may see and do: the only thing that a handler may ask. */
    access: Access;
  };
}
/** A function of requests. */
export type Admin = OpenAPIHono<Env>;

/** Also the answer to whatever belongs to another organization: it is not there, whether it exists or not. */
export const notFound = (context: Context): Response =>
  problem('request.not_found', { detail: `${context.req.method} ${context.req.path.slice(0, 200)}` });
