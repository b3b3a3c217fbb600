/** Builds the admin application and the separate health application. The caller opens and closes their listeners. */
import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { ListenerCertificate } from '../config/source/listener-certificate.js';
import { AdminModule } from './admin.module.js';
import type { AdminDependencies } from './request/admin-dependencies.js';
import { logRequests, ignoreExpectations, serverOptions, raiseBodyLimit } from './http-server.js';
import { useJsonBodies } from './json-bodies.js';
import { IMPORTS_PATH, MAX_IMPORT_BYTES } from './imports/imports.controller.js';
import { INTAKE_PATH, MAX_BATCH_BYTES } from './intake/intake.controller.js';
import { AdminNetworks } from './listener/admin-networks.js';
import { RequestPreparation, type ArrivalParts } from './listener/arrivals.js';
import { limitConnections } from './listener/connection-limits.js';
import { SecurityHeaders } from './listener/security-headers.js';
import { ProblemFilter } from './problem.filter.js';
import { allowedMethodsOf } from './routes.js';
import { ValidationPipe } from './validation.pipe.js';

/**
 * Builds the application of the admin listener: the admin API, the panel, and health and metrics unless they have their
 * own listener. Does not listen yet. Rejects if a module is misconfigured, or with `TlsFilesError` if the certificate
 * or key cannot be used.
 */
export async function createAdminApplication(deps: AdminDependencies): Promise<NestFastifyApplication> {
  const { tls, hsts } = deps.settings();
  const certificate = tls === undefined ? undefined : new ListenerCertificate('admin', tls, deps.configPath, deps.log);
  const headers = new SecurityHeaders(deps.url().startsWith('https:') ? hsts : undefined);
  const networks = new AdminNetworks(deps.settings);
  return await build(deps, AdminModule.forRoot(deps, networks), { admin: deps, networks, headers }, certificate);
}

/**
 * Builds the application of a separate health listener, which serves only /livez, /readyz and /metrics over plain HTTP.
 */
export async function createHealthApplication(deps: AdminDependencies): Promise<NestFastifyApplication> {
  const parts = { admin: undefined, networks: undefined, headers: new SecurityHeaders(undefined) };
  return await build(deps, AdminModule.forHealth(deps), parts, undefined);
}

async function build(
  deps: AdminDependencies,
  module: DynamicModule,
  parts: ArrivalParts,
  certificate: ListenerCertificate | undefined,
): Promise<NestFastifyApplication> {
  const { clock, log, errorPages: pages } = deps;
  const tls = await certificate?.read();
  const adapter = new FastifyAdapter(serverOptions({ clock, headers: parts.headers, pages, tls }));
  const fastify = adapter.getInstance() as unknown as FastifyInstance;
  useJsonBodies(fastify, INTAKE_PATH);
  raiseBodyLimit(fastify, INTAKE_PATH, MAX_BATCH_BYTES);
  raiseBodyLimit(fastify, IMPORTS_PATH, MAX_IMPORT_BYTES);
  // `allowedMethodsOf` collects only routes that are registered after this call.
  const allowedMethods = allowedMethodsOf(fastify);
  const arrivals = new RequestPreparation(parts);
  logRequests(fastify, log, arrivals, allowedMethods, { panel: deps.api?.panel ?? null, pages });
  const application = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    bodyParser: false,
    logger: false,
    abortOnError: false,
  });
  application.useGlobalFilters(new ProblemFilter(log, pages, allowedMethods));
  application.useGlobalPipes(new ValidationPipe());
  const server = application.getHttpServer() as Server;
  ignoreExpectations(server);
  limitConnections(server, deps.settings().limits, arrivals.trusts);
  if (certificate !== undefined) {
    const stopFollowing = certificate.watchServer(server as TlsServer);
    fastify.addHook('onClose', async () => stopFollowing());
  }
  return application;
}
