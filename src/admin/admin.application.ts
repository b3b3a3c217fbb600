/** The admin application: its own server on its own port. The caller makes it listen and closes it. */
import type { Server } from 'node:http';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { AdminModule } from './admin.module.js';
import type { AdminDependencies } from './request/admin-dependencies.js';
import { describeRequests, ignoreExpectations, serverOptions, useJsonBodies } from './http-server.js';
import { ProblemFilter } from './problem.filter.js';
import { allowedMethodsOf } from './routes.js';
import { ValidationPipe } from './validation.pipe.js';

/** Builds the application, not yet listening. Rejects where a part of it is put together wrongly. */
export async function createAdminApplication(deps: AdminDependencies): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter(serverOptions(deps.clock));
  const fastify = adapter.getInstance() as unknown as FastifyInstance;
  useJsonBodies(fastify);
  // Before the application adds its routes.
  const allowedMethods = allowedMethodsOf(fastify);
  describeRequests(fastify, deps.log, allowedMethods, deps.api?.panel ?? null);
  const application = await NestFactory.create<NestFastifyApplication>(AdminModule.forRoot(deps), adapter, {
    bodyParser: false,
    logger: false,
    abortOnError: false,
  });
  application.useGlobalFilters(new ProblemFilter(deps.log, allowedMethods));
  application.useGlobalPipes(new ValidationPipe());
  ignoreExpectations(application.getHttpServer() as Server);
  return application;
}
