/**
 * Creates the Nest application of the customers backend, with its body parser, response headers, request log and error
 * filter.
 */
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Clock } from './model/clock.js';
import { CursorCodec } from './cursor.js';
import { CustomerParser } from './customer.schema.js';
import { CustomersController } from './customers.controller.js';
import { CustomersRepository } from './customers.repository.js';
import type { Database } from './database/connection.js';
import { ErrorFilter, toRequestError } from './error.filter.js';
import type { Outbox } from './events/outbox.js';
import { HealthController } from './health.controller.js';
import { BODY_LIMIT_BYTES, useJsonBodies } from './json-body.js';

const REQUEST_TIMEOUT_MS = 30_000;

@Module({})
class CustomersModule {}

/** Dependencies of the application. */
export interface Parts {
  readonly database: Database;
  readonly cursorSecret: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Receives the events of customers. Undefined if no events are emitted. */
  readonly outbox?: Outbox | undefined;
}

/** Creates the application without starting it. The caller closes the application, and after that the database. */
export async function createApplication(parts: Parts): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Handles errors of the router that occur before any hook or filter runs, such as %ff in a path.
    frameworkErrors: (error: FastifyError, _request: FastifyRequest, reply: FastifyReply) => {
      const refusal = toRequestError(error);
      void reply.status(refusal.status).send(refusal.body());
    },
  });
  const fastify = adapter.getInstance() as unknown as FastifyInstance;
  useJsonBodies(fastify);
  fastify.addHook('onRequest', async (_request, reply) => {
    // Responses contain personal data, which caches must not store.
    void reply.header('cache-control', 'private, no-store');
  });
  logRequests(fastify, parts.log);
  const application = await NestFactory.create<NestFastifyApplication>(
    {
      module: CustomersModule,
      controllers: [CustomersController, HealthController],
      providers: [
        { provide: CustomersRepository, useValue: createRepository(parts) },
        { provide: CursorCodec, useValue: new CursorCodec(parts.cursorSecret) },
        { provide: CustomerParser, useValue: new CustomerParser(parts.clock) },
      ],
    },
    adapter,
    { bodyParser: false, logger: false, abortOnError: false },
  );
  application.useGlobalFilters(new ErrorFilter(parts.log));
  return application;
}

function createRepository({ database, clock, outbox }: Parts): CustomersRepository {
  return new CustomersRepository(database, clock, outbox);
}

/** Logs one line per request at level debug. Omits query and body, which contain personal data. */
function logRequests(fastify: FastifyInstance, log: Logger): void {
  fastify.addHook('onResponse', async (request, reply) => {
    log.debug({
      request_id: request.headers['x-request-id'],
      account_id: request.headers['x-account-id'],
      method: request.method,
      route: request.routeOptions.url,
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime * 1_000) / 1_000,
    });
  });
}
