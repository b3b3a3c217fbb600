/** HTTP server of the admin listener: limits, request ids, JSON bodies, and responses without a route. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify';
import type { Clock } from '../platform/clock.js';
import { parserProblemCode, parserProblemText } from '../http/client/parser-problem.js';
import type { ParserError } from '../http/client/unknown-method.js';
import { newId } from '../stores/database/ids.js';
import type { Logger } from '../platform/log.js';
import { methodProblem, UNKNOWN_METHOD_DETAIL } from '../platform/methods.js';
import { responseUnderWay } from '../platform/node-internals.js';
import type { PanelFiles } from './panel/panel-files.js';
import { sendPanel } from './panel/send-panel.js';
import type { Arrivals } from './listener/arrivals.js';
import type { SecurityHeaders } from './listener/security-headers.js';
import { noRoute, problemOf, sendProblem, type AllowedMethods } from './problem.filter.js';
import type { ErrorPages } from '../platform/problems/error-pages.js';

/** Large enough for the largest API body, a list of a hundred addresses. */
const BODY_LIMIT_BYTES = 64 * 1024;
const REQUEST_TIMEOUT_MS = 15_000;
const CONNECTION_TIMEOUT_MS = 30_000;
const CONNECTIONS_CHECK_INTERVAL_MS = 2_000;
/** Limit for the TLS handshake, in milliseconds. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** `validation.pipe.ts` validates resources. Without these, Fastify would load Ajv and related code, 2 MB. */
const NO_SCHEMAS = { buildValidator: noSchema, buildSerializer: noSchema };

function noSchema(): never {
  throw new Error('No route of this application has a schema.');
}

/** Parts of the server beside its limits. */
export interface ServerParts {
  readonly clock: Clock;
  /** For responses that bypass the hooks. */
  readonly headers: SecurityHeaders;
  readonly pages: ErrorPages;
  /** Certificate and key; undefined: plain HTTP. */
  readonly tls: SecureContextOptions | undefined;
}

/** Returns the options of the Fastify server. */
export function serverOptions({ clock, headers, pages, tls }: ServerParts): FastifyServerOptions {
  // `Arrivals` rejects a missing Host with a problem document.
  const parser = { connectionsCheckingInterval: CONNECTIONS_CHECK_INTERVAL_MS, requireHostHeader: false };
  const secure = { ...parser, ...tls, ALPNProtocols: ['http/1.1'], handshakeTimeout: HANDSHAKE_TIMEOUT_MS };
  return {
    bodyLimit: BODY_LIMIT_BYTES,
    schemaController: { compilersFactory: NO_SCHEMAS },
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    ...(tls === undefined ? { http: parser } : { https: secure }),
    genReqId: () => newId('req', clock.now()),
    // Handles paths that the router rejects before any hook or filter, such as %ff.
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      headers.setOn(reply);
      sendProblem(problemOf(error), request, reply, pages);
    },
    clientErrorHandler: (error: ParserError, socket: Socket) =>
      respondToParserError(error, socket, { clock, headers, pages }),
  } as FastifyServerOptions;
}

/** Raises the body limit for one path. Call it before routes are added. */
export function raiseBodyLimit(fastify: FastifyInstance, path: string, limitBytes: number): void {
  fastify.addHook('onRoute', (route) => {
    if (route.url === path) route.bodyLimit = limitBytes;
  });
}

/**
 * Installs the hooks that start every request and log its end. Logs contain neither query nor body, which can hold
 * personal data. Requests without a route go to the panel.
 */
export function logRequests(
  fastify: FastifyInstance,
  log: Logger,
  arrivals: Arrivals,
  allowedMethods: AllowedMethods,
  { panel, pages }: { readonly panel: PanelFiles | null; readonly pages: ErrorPages },
): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const refusal = arrivals.begin(request, reply);
    if (refusal !== undefined) {
      sendProblem(refusal, request, reply, pages);
      return;
    }
    // Runs before the body is read: Fastify rejects QUERY without a content type on any path.
    if (request.is404) {
      if (panel !== null && sendPanel(panel, request, reply)) return;
      sendProblem(methodProblem(request.method) ?? noRoute(request, allowedMethods), request, reply, pages);
      return;
    }
    done();
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? null;
    // Don't log successful probes, scrapes and panel files: there are too many of them.
    const level = reply.statusCode < 400 && route?.startsWith('/admin/') !== true ? 'debug' : 'info';
    log[level]({
      event: 'admin_request',
      plane: 'admin',
      request_id: request.id,
      method: request.method,
      route,
      status: reply.statusCode,
      ip: request.ip,
      duration_ms: Math.round(reply.elapsedTime * 1_000) / 1_000,
    });
    done();
  });
}

/** Ignores expectations other than 100-continue (RFC 9110 section 10.1.1). Node would respond in its own format. */
export function ignoreExpectations(server: Server): void {
  server.on('checkExpectation', (message: IncomingMessage, response: ServerResponse) => {
    server.emit('request', message, response);
  });
}

/** Responds to parser errors of Node with a problem document, if the socket is still writable. */
function respondToParserError(
  error: ParserError,
  socket: Socket,
  { clock, headers, pages }: Pick<ServerParts, 'clock' | 'headers' | 'pages'>,
): void {
  // Don't write into a response that has started. Node's default handler checks the same.
  if (error.code === 'ECONNRESET' || !socket.writable || responseUnderWay(socket)?.headersSent === true) {
    socket.destroy();
    return;
  }
  const code = parserProblemCode(error);
  const requestId = newId('req', clock.now());
  const said = {
    code,
    detail: code === 'not_implemented' ? UNKNOWN_METHOD_DETAIL : undefined,
    requestId,
    dateLine: `Date: ${new Date(clock.now()).toUTCString()}\r\n`,
    lines: `X-Request-Id: ${requestId}\r\n${headers.lines}`,
  };
  socket.end(parserProblemText(said, pages));
}
