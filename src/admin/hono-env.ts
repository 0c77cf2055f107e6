import type { IncomingMessage } from 'node:http';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Access } from './access/access.ts';
import type { Principal } from './auth/tokens.ts';
import { problem } from './problem.ts';

/** The client of a request, as reported by trusted proxies. */
export interface Client {
  /** IP address; `unknown` if there is no connection. */
  readonly address: string;
  /** Whether it uses TLS, at least up to the proxy in front of Docket. */
  readonly secure: boolean;
  /** Requested host and port, lower case; empty without a Host header. */
  readonly host: string;
}

/** A session of the page. */
export interface Session {
  readonly principal: Principal;
  /** The CSRF token that each action must send, in the form field `csrf` or the header `X-CSRF-Token`. */
  readonly csrf: string;
}

/** The environment of a request; `incoming` is present behind a real server. */
export interface Env {
  Bindings: { readonly incoming?: IncomingMessage };
  Variables: {
    client: Client;
    principal: Principal;
    /** Present if a session, not a token, authenticated the principal. */
    session: Session | undefined;
    /** Whether the token is still valid with the same permissions. For long responses. */
    stillAccepted: () => Promise<boolean>;
    /** What the principal may see and do. Handlers use only this. */
    access: Access;
  };
}
/** The admin route: a function of requests. */
export type AdminApp = OpenAPIHono<Env>;

/** The response for unknown paths and for data of another organization. It is the same, so it reveals no existence. */
export const notFoundResponse = (context: Context): Response =>
  problem('request.not_found', { detail: `${context.req.method} ${context.req.path.slice(0, 200)}` });
