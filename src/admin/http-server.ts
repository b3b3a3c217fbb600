/**
 * Configures the Fastify server of the admin and health listeners: limits, TLS, request IDs, request logging, and
 * responses to requests that match no route.
 */
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
import { currentResponse } from '../platform/node-internals.js';
import type { PanelFiles } from './panel/panel-files.js';
import { sendPanel } from './panel/send-panel.js';
import type { RequestPreparation } from './listener/arrivals.js';
import type { SecurityHeaders } from './listener/security-headers.js';
import { noRoute, problemOf, sendProblem, type AllowedMethods } from './problem.filter.js';
import type { ErrorPages } from '../platform/problems/error-pages.js';

/** Default maximum size of a request body. `raiseBodyLimit` sets a larger limit for imports and event intake. */
const BODY_LIMIT_BYTES = 64 * 1024;
const REQUEST_TIMEOUT_MS = 15_000;
const CONNECTION_TIMEOUT_MS = 30_000;
const CONNECTIONS_CHECK_INTERVAL_MS = 2_000;
/** Maximum duration of the TLS handshake, in milliseconds. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Replaces Fastify's schema compilers, which would load 2 MB of Ajv code. `ValidationPipe` validates instead. */
const NO_SCHEMAS = { buildValidator: noSchema, buildSerializer: noSchema };

function noSchema(): never {
  throw new Error('No route of this application has a schema.');
}

/** ServerParts has the dependencies of `serverOptions`. */
export interface ServerParts {
  readonly clock: Clock;
  /** Headers for responses to requests that Fastify or Node rejects before any hook runs. */
  readonly headers: SecurityHeaders;
  readonly pages: ErrorPages;
  /** Certificate and key. Undefined for plain HTTP. */
  readonly tls: SecureContextOptions | undefined;
}

/** Returns the Fastify server options: limits, timeouts, TLS, request IDs and handlers of early errors. */
export function serverOptions({ clock, headers, pages, tls }: ServerParts): FastifyServerOptions {
  // `RequestPreparation` rejects a missing Host header with a problem document.
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
    // Responds to paths that the router rejects before any hook or filter runs, such as `/%ff`.
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      headers.setOn(reply);
      sendProblem(problemOf(error), request, reply, pages);
    },
    clientErrorHandler: (error: ParserError, socket: Socket) =>
      respondToParserError(error, socket, { clock, headers, pages }),
  } as FastifyServerOptions;
}

/** Sets the body limit of one path, in bytes. Call `raiseBodyLimit` before the application registers its routes. */
export function raiseBodyLimit(fastify: FastifyInstance, path: string, limitBytes: number): void {
  fastify.addHook('onRoute', (route) => {
    if (route.url === path) route.bodyLimit = limitBytes;
  });
}

/**
 * Adds two hooks. The first checks each request before its handler. Requests that match no route get the panel, or 404,
 * 405 or 501. The second hook logs each response without query and body, which can contain personal data.
 * @param options `panel` is null if the panel is not built.
 */
export function logRequests(
  fastify: FastifyInstance,
  log: Logger,
  arrivals: RequestPreparation,
  allowedMethods: AllowedMethods,
  { panel, pages }: { readonly panel: PanelFiles | null; readonly pages: ErrorPages },
): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const refusal = arrivals.begin(request, reply);
    if (refusal !== undefined) {
      sendProblem(refusal, request, reply, pages);
      return;
    }
    // Respond before Fastify reads the body. Fastify would reject a QUERY request without a content type on any path.
    if (request.is404) {
      if (panel !== null && sendPanel(panel, request, reply)) return;
      sendProblem(methodProblem(request.method) ?? noRoute(request, allowedMethods), request, reply, pages);
      return;
    }
    done();
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? null;
    // Log successful requests outside the admin API only at level debug, because probes, scrapes, panel files and event
    // intake are too frequent.
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

/**
 * Ignores `Expect` values other than `100-continue` (RFC 9110 section 10.1.1). By default, Node responds with a 417
 * without a problem document.
 */
export function ignoreExpectations(server: Server): void {
  server.on('checkExpectation', (message: IncomingMessage, response: ServerResponse) => {
    server.emit('request', message, response);
  });
}

/** Responds to an error of Node's HTTP parser with a problem document, or closes the socket if no response can be sent. */
function respondToParserError(
  error: ParserError,
  socket: Socket,
  { clock, headers, pages }: Pick<ServerParts, 'clock' | 'headers' | 'pages'>,
): void {
  // Don't write into a response whose headers are sent. Node's default handler checks the same.
  if (error.code === 'ECONNRESET' || !socket.writable || currentResponse(socket)?.headersSent === true) {
    socket.destroy();
    return;
  }
  const code = parserProblemCode(error);
  const requestId = newId('req', clock.now());
  const response = {
    code,
    detail: code === 'not_implemented' ? UNKNOWN_METHOD_DETAIL : undefined,
    requestId,
    dateLine: `Date: ${new Date(clock.now()).toUTCString()}\r\n`,
    lines: `X-Request-Id: ${requestId}\r\n${headers.lines}`,
  };
  socket.end(parserProblemText(response, pages));
}
