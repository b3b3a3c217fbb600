/**
 * READ FIRST. Implements the customer API, with one method for each operation of `customers.openapi.yaml`. The comment
 * after each decorator lists the error responses.
 */
import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Patch,
  Post,
  Query,
  Req,
  Res,
  UseGuards,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccountGuard, AccountId } from './account.guard.js';
import type { CursorScope } from './cursor.js';
import { CursorCodec } from './cursor.js';
import type { CustomerJson } from './model/customer.js';
import { ID_PATTERN, toJson } from './model/customer.js';
import { CustomerParser } from './customer.schema.js';
import { CustomersRepository } from './customers.repository.js';
import { RequestError } from './errors.js';
import type { CustomerFilters } from './list-query.js';
import { parseListQuery } from './list-query.js';
import { publicUrl } from './public-url.js';

interface CustomerList {
  readonly data: readonly CustomerJson[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

@Controller('customers')
@UseGuards(AccountGuard) // 401
export class CustomersController {
  constructor(
    private readonly customers: CustomersRepository,
    private readonly cursors: CursorCodec,
    private readonly parser: CustomerParser,
  ) {}

  @Get() // 400 invalid_parameter, invalid_cursor
  async list(
    @AccountId() accountId: string,
    @Query() query: Readonly<Record<string, unknown>>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CustomerList> {
    const { limit, filters, cursor } = parseListQuery(query);
    const scope = cursorScope(accountId, filters);
    const after = cursor === undefined ? undefined : this.cursors.decode(cursor, scope);
    const page = await this.customers.list(accountId, filters, limit, after);
    const last = page.customers.at(-1);
    const data = page.customers.map(toJson);
    if (!page.hasMore || last === undefined) return { data, has_more: false, next_cursor: null };
    const nextCursor = this.cursors.encode({ createdAt: last.created_at, id: last.id }, scope);
    reply.header('link', `<${nextUrl(request, query, nextCursor)}>; rel="next"`);
    return { data, has_more: true, next_cursor: nextCursor };
  }

  @Get(':id') // 404
  async get(@AccountId() accountId: string, @Param('id') id: string): Promise<CustomerJson> {
    return toJson(await this.customers.get(accountId, checkedId(id)));
  }

  @Post() // 400, 409 email_taken, 422
  async create(
    @AccountId() accountId: string,
    @Body() body: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CustomerJson> {
    const customer = await this.customers.create(accountId, this.parser.parseCreate(body));
    reply.header('location', publicUrl(request.headers, `/customers/${customer.id}`));
    return toJson(customer);
  }

  @Patch(':id') // 400, 404, 409 email_taken, 422
  async update(@AccountId() accountId: string, @Param('id') id: string, @Body() body: unknown): Promise<CustomerJson> {
    return toJson(await this.customers.update(accountId, checkedId(id), this.parser.parseUpdate(body)));
  }

  @Delete(':id') // 404
  @HttpCode(204)
  async delete(@AccountId() accountId: string, @Param('id') id: string): Promise<void> {
    await this.customers.delete(accountId, checkedId(id));
  }
}

/** Returns a well-formed ID unchanged. Throws `customer_not_found` for a malformed ID, without a database query. */
function checkedId(id: string): string {
  if (ID_PATTERN.test(id)) return id;
  throw new RequestError('customer_not_found', 'There is no such customer: an id is cus_ and 20 letters and digits.');
}

/** Returns the account and the filters, which must be the same for all pages of a list. */
function cursorScope(accountId: string, filters: CustomerFilters): CursorScope {
  const { email, activity, status, created_after, created_before, search } = filters;
  return [accountId, email, activity, status, created_after, created_before, search];
}

/** Returns the public URL of the next page: the caller's request with another cursor. */
function nextUrl(request: FastifyRequest, query: Readonly<Record<string, unknown>>, cursor: string): string {
  const parameters = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  parameters.set('cursor', cursor);
  return publicUrl(request.headers, `/customers?${parameters}`);
}
