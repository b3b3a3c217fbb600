/** Starts the API reference alone, in a real Nest application on a free port. */
import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import type { LoadedConfig } from '../../src/config/model/loaded-config.js';
import { ErrorPages } from '../../src/platform/problems/error-pages.js';
import { Problem } from '../../src/platform/problems/errors.js';
import { problemBody } from '../../src/platform/problems/problem-body.js';
import { ReferenceModule, type ReferenceOptions } from '../../src/reference/reference.module.js';

const PAGES = new ErrorPages('https://api.example.com');

/** Replaces the exception filter of the public application, which belongs to another module. */
@Catch(Problem)
class ProblemFilter implements ExceptionFilter<Problem> {
  catch(problem: Problem, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    void reply.code(problem.status).send(problemBody(problem, 'req_test', PAGES));
  }
}

/** Starts the application. @returns its origin, and a function that stops it. */
export async function startReference(
  config: LoadedConfig,
  options: ReferenceOptions = {},
): Promise<{ origin: string; stop: () => Promise<void> }> {
  const module = ReferenceModule.forRoot(config, options);
  const app = await NestFactory.create<NestFastifyApplication>(module, new FastifyAdapter(), { logger: false });
  app.useGlobalFilters(new ProblemFilter());
  await app.listen(0, '127.0.0.1');
  return { origin: await app.getUrl(), stop: () => app.close() };
}
