import type { IncomingMessage } from 'node:http';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Access } from './access/access.ts';
import type { Principal } from './auth/tokens.ts';
import { problem } from './problem.ts';

/** The client of a request, as reported by trusted proxies. */
export interface Client {
  /** IP address; `unknown` where there is no connection. */
  readonly address: string;
  /** Whether it uses TLS, to the proxy in front of Docket. */
  readonly secure: boolean;
  /** Requested host and port, lower case; empty without a Host header. */
  readonly host: string;
}

/** A session of the page. */
export interface Session {
  readonly principal: Principal;
  /** CSRF token of each action: in the form field `csrf` or the header `X-CSRF-Token`. */
  readonly csrf: string;
}

/** The environment of a request; `incoming` is present behind a real server. */
export interface Env {
  Bindings: { readonly incoming?: IncomingMessage };
  Variables: {
    client: Client;
    principal: Principal;
    /** Present if the principal is authenticated by a session, not by a token. */
    session: Session | undefined;
    /** Whether the token is still valid with the same permissions: for long responses. */
    stillAccepted: () => Promise<boolean>;
    /** What the principal may see and do. Handlers use nothing else. */
    access: Access;
  };
}
/** A function of requests. */
export type AdminApp = OpenAPIHono<Env>;

/** Also the response for data of another organization: its existence is not revealed. */
export const notFoundResponse = (context: Context): Response =>
  problem('request.not_found', { detail: `${context.req.method} ${context.req.path.slice(0, 200)}` });
