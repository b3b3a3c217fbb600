/**
 * Builds the public listener: a Nest application on Fastify, with the fast path, HTTP/2, the PROXY protocol and limits.
 * Request bodies are not parsed.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify';
import { hstsField } from '../../config/model/hsts-field.js';
import { ListenerCertificate } from '../../config/source/listener-certificate.js';
import { linesOf } from '../../http/grammar/fields.js';
import { HttpDate } from '../../http/client/http-date.js';
import { serveHalfClosed } from '../../http/client/half-closed.js';
import { plainTlsListener, readPlainRequests } from '../../http/client/plain-listener.js';
import type { Log } from '../../platform/log.js';
import { Arrivals } from '../request/arrivals.js';
import { HEAD_TIMEOUT_MS, KEEP_ALIVE_TIMEOUT_MS } from '../request/connection-timeouts.js';
import type { Connections } from './connections.js';
import { EndedCallers } from '../request/ended-callers.js';
import { ErrorFilter } from '../request/error.filter.js';
import { exchangeOf } from '../request/exchange.js';
import { Entrance } from './entrance.js';
import { FastPath } from './fast-path.js';
import { inOrder, inOrderWithoutKey } from '../../admission/steps.js';
import { StepWalk, type WalkEnd } from '../../admission/step-walk.js';
import { Backend } from '../steps/backend.js';
import type { Exchange } from '../request/exchange.js';
import { GatewayModule, type GatewayDependencies } from './gateway.module.js';
import { ALPN_PROTOCOLS, speakHttp2 } from './http2.js';
import { Http2Sessions } from './http2-sessions.js';
import type { ParserError } from '../../http/client/unknown-method.js';
import { respondToParserError, type ResponseFields } from './parser-errors.js';
import { readProxyProtocol } from './proxied-connections.js';
import { endQueuedWith } from './queued-responses.js';
import { installRequestHooks } from './request-hooks.js';
import { InnerCalls } from '../inner/inner-calls.js';
import { RequestEnd } from '../request/request-end.js';
import { timedSteps } from '../request/tracing.js';
import { Upgrades } from './upgrades.js';

const LARGEST_HEAD_BYTES = 16 * 1024;
/**
 * Node has no timeout for whole requests here, because a timeout would end long uploads. The `timeouts.idle` of a
 * service ends a stalled body, and `discard-body.ts` ends a body that is not needed.
 */
const NO_REQUEST_TIMEOUT = 0;
const CONNECTIONS_CHECK_INTERVAL_MS = 2_000;
/** Timeout of the TLS handshake, in ms. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/**
 * Compilers for Fastify's schemas. No route has a schema, and without these compilers Fastify would load Ajv (2 MB).
 */
const NO_SCHEMAS = { buildValidator: noSchema, buildSerializer: noSchema };

/** Options of Node's HTTP parser. */
const PARSER = {
  maxHeaderSize: LARGEST_HEAD_BYTES,
  headersTimeout: HEAD_TIMEOUT_MS,
  connectionsCheckingInterval: CONNECTIONS_CHECK_INTERVAL_MS,
  // `framing.ts` rejects a missing `Host` with a problem response.
  requireHostHeader: false,
  insecureHTTPParser: false,
  // A request without a body gets no body stream to discard, which saves two ticks.
  optimizeEmptyRequests: true,
} as const;

/**
 * Builds the application of the public listener. The caller starts listening.
 * @param more modules of other services on the listener, such as the reference pages
 * @throws an error if the certificate of the listener cannot be read
 */
export async function createGatewayApplication(
  deps: GatewayDependencies,
  log: Log,
  more: readonly DynamicModule[],
): Promise<NestFastifyApplication> {
  const endedCallers = new EndedCallers(deps.authenticator, deps.failedAttempts);
  const requestEnd = new RequestEnd(
    log,
    deps.recorder,
    deps.requestLogs,
    endedCallers,
    deps.clock,
    deps.requestLines,
    deps.tracer,
  );
  const { trustedProxies, proxyProtocol, tls, hsts } = deps.config.file.gateway;
  const secureField = hstsField(hsts);
  const secureLines = linesOf(secureField);
  const date = new HttpDate(deps.clock);
  const arrivals = new Arrivals(requestEnd, trustedProxies, secureField, date, deps.tracer);
  const filter = new ErrorFilter(deps.routes, deps.errorPages, log.logger);
  const steps = deps.tracer === undefined ? deps.steps : timedSteps(deps.steps);
  const backend = new Backend({ ...deps, filter });
  const upgrades = new Upgrades(deps.routes);
  const parser = { ...PARSER, shouldUpgradeCallback: (message: IncomingMessage) => upgrades.accepts(message) };
  const fields: ResponseFields = { cors: deps.cors, secureLines, date, pages: deps.errorPages };
  const options = serverOptions(parser, filter, fields);
  const certificate =
    tls === undefined ? undefined : new ListenerCertificate('gateway', tls, deps.config.path, log.logger);
  const adapter = new FastifyAdapter(
    // With `https`, Fastify ignores the option `http`.
    certificate === undefined ? options : { ...options, https: await tlsOptions(certificate, parser) },
  );
  const fastify = adapter.getInstance() as unknown as FastifyInstance;
  passBodiesThrough(fastify);
  installRequestHooks(fastify, arrivals);
  const application = await NestFactory.create<NestFastifyApplication>(
    GatewayModule.forRoot(deps, { steps, backend }, more),
    adapter,
    {
      bodyParser: false,
      logger: false,
      abortOnError: false,
    },
  );
  application.useGlobalFilters(filter);
  const server = application.getHttpServer() as Server;
  const end: WalkEnd<Exchange> = {
    admitted: (exchange) => backend.forward(exchange),
    refused: (reason, exchange) => filter.respond(reason, exchange),
  };
  const walk = new StepWalk(inOrderWithoutKey(steps), end);
  const keyedWalk = new StepWalk(inOrder(steps), end);
  const endpoint = deps.mountEndpoint?.({
    inner: new InnerCalls({ routes: deps.routes, steps, end, requestEnd, date, tracer: deps.tracer }),
    refuse: (request, reason) => filter.respond(reason, request as Exchange),
  });
  const entrance = new Entrance({ ...deps, arrivals, filter, endpoint });
  const fastPath = new FastPath({ routes: deps.routes, entrance, walk, keyedWalk, endpoint });
  fastPath.install(server);
  delayContinue(server);
  refuseConnect(server, fields);
  upgrades.install(server);
  serveHalfClosed(server);
  if (certificate !== undefined) serveTls(server as TlsServer, certificate, deps.connections, fastify, fastPath);
  limitConnections(server, deps.connections, fastify);
  if (certificate === undefined) readPlainRequests(server, fastPath);
  readProxyProtocol(server, proxyProtocol);
  return application;
}

function serverOptions(parser: object, filter: ErrorFilter, fields: ResponseFields): FastifyServerOptions {
  return {
    // Nest's middleware engine is not needed and would run on every request.
    skipMiddie: true,
    schemaController: { compilersFactory: NO_SCHEMAS },
    requestIdHeader: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // `Connections` closes idle connections, without a timer per request.
    keepAliveTimeout: 0,
    requestTimeout: NO_REQUEST_TIMEOUT,
    http: parser,
    clientErrorHandler: (error: ParserError, socket: Socket) => respondToParserError(error, socket, fields),
    // Handle errors of Fastify's router that occur before any hook runs, such as `%ff` in a path.
    frameworkErrors: (error: Error, _request: FastifyRequest, reply: FastifyReply) => {
      reply.hijack();
      filter.respond(error, exchangeOf(reply.raw));
    },
  } as FastifyServerOptions;
}

function noSchema(): never {
  throw new Error('No route of this application has a schema.');
}

async function tlsOptions(certificate: ListenerCertificate, parser: object): Promise<object> {
  const files = await certificate.read();
  return { ...parser, ...files, ALPNProtocols: ALPN_PROTOCOLS, handshakeTimeout: HANDSHAKE_TIMEOUT_MS };
}

/** Adds HTTP/2, and reloads the certificate when its files change. Both stop when the application closes. */
function serveTls(
  server: TlsServer,
  certificate: ListenerCertificate,
  connections: Connections,
  fastify: FastifyInstance,
  fastPath: FastPath,
): void {
  const sessions = new Http2Sessions(KEEP_ALIVE_TIMEOUT_MS, () => connections.longestIdleMs);
  const stopHttp2 = speakHttp2(server, sessions, fastPath.serveStream, (nodeListener) =>
    plainTlsListener(server, nodeListener, fastPath),
  );
  const stopFollowing = certificate.watchServer(server);
  fastify.addHook('preClose', (done) => {
    stopFollowing();
    sessions.end();
    done();
  });
  fastify.addHook('onClose', (_instance, done) => {
    stopHttp2();
    sessions.stop();
    done();
  });
}

/** Enforces the limits of `Connections` until the application closes. */
function limitConnections(server: Server, connections: Connections, fastify: FastifyInstance): void {
  const stop = connections.attachTo(server);
  fastify.addHook('onClose', (_instance, done) => {
    stop();
    done();
  });
}

/** Makes Fastify leave all request bodies unparsed, so that they stream to backends. */
function passBodiesThrough(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', (_request, _payload, done) => done(null));
}

/** Delays `100 Continue` until the gateway needs the body, which is after the steps (RFC 9110 section 10.1.1). */
function delayContinue(server: Server): void {
  const emitRequest = (message: IncomingMessage, response: ServerResponse) => server.emit('request', message, response);
  server.on('checkContinue', emitRequest);
  // Ignore unknown expectations.
  server.on('checkExpectation', emitRequest);
}

/** Rejects CONNECT with a problem response. Without a listener, Node would close the connection without a response. */
function refuseConnect(server: Server, fields: ResponseFields): void {
  server.on('connect', (_message: IncomingMessage, socket: Socket) => {
    // Node has detached the socket from its server. An unhandled error would end the process.
    socket.on('error', () => socket.destroy());
    endQueuedWith(socket);
    respondToParserError(new Error('CONNECT'), socket, fields);
  });
}
