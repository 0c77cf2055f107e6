import type { IncomingMessage } from 'node:http';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Access } from './access/access.ts';
import type { Principal } from './auth/tokens.ts';
import { problem } from './problem.ts';

/** Who is at the other end, as far as proxies that are trusted say. */
export interface Client {
  /** IP address; `unknown` where there is no connection. */
  readonly address: string;
  /** Whether it speaks TLS, to the proxy in front of us. */
  readonly secure: boolean;
  /** Host and port as it names us, lower case; empty when it does not. */
  readonly host: string;
}

/** Somebody who is signed in to the page. */
export interface Session {
  readonly principal: Principal;
  /** What each action of the page has to show: a form in the field `csrf`, a script in the header `X-CSRF-Token`. */
  readonly csrf: string;
}

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
export type AdminApp = OpenAPIHono<Env>;

/** Also the answer to whatever belongs to another organization: it is not there, whether it exists or not. */
export const notFoundResponse = (context: Context): Response =>
  problem('request.not_found', { detail: `${context.req.method} ${context.req.path.slice(0, 200)}` });
