/**
 * Serves the public keys of a webhook endpoint, without authentication. Receivers verify `v1a` signatures with these
 * keys.
 */
import { Controller, Get, Inject, Query, Res } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { PUBLIC_KEYS_PATH } from '../../proxy/routing/built-in-paths.js';
import { PublicKeys } from './public-keys.js';

/** Five minutes, much shorter than the overlap of a key rotation, so that caches get the next key in time. */
const CACHE_SHORTLY = 'public, max-age=300';

@Controller(PUBLIC_KEYS_PATH)
export class PublicKeysController {
  constructor(@Inject(PublicKeys) private readonly keys: PublicKeys) {}

  /** Responds with an empty list for an unknown endpoint. */
  @Get()
  async read(@Query('endpoint') endpoint: unknown, @Res() reply: FastifyReply): Promise<void> {
    const found = typeof endpoint === 'string' ? await this.keys.findKeys(endpoint) : [];
    const keys = found.map(({ key, createdAt, expiresAt }) => ({
      key,
      created_at: formatWithOffset(createdAt, 'UTC'),
      expires_at: expiresAt === null ? null : formatWithOffset(expiresAt, 'UTC'),
    }));
    void reply
      .type('application/json; charset=utf-8')
      .headers({ 'cache-control': CACHE_SHORTLY, 'x-content-type-options': 'nosniff' })
      .send(JSON.stringify({ keys }));
  }
}

/** PublicKeysModule is the Nest module of the controller, for the public application. */
export class PublicKeysModule {
  static of(keys: PublicKeys): DynamicModule {
    return {
      module: PublicKeysModule,
      controllers: [PublicKeysController],
      providers: [{ provide: PublicKeys, useValue: keys }],
    };
  }
}
