/**
 * Serves the OpenAPI documents and HTML pages of the API reference on the public listener. Requests need no API key.
 */
import { Controller, Get, Header, Inject, Param, Req, Res } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../platform/problems/errors.js';
import { REFERENCE_ROOT } from '../proxy/routing/built-in-paths.js';
import { errorListPage, errorPage, isErrorCode, unknownCodePage } from './error-pages.js';
import { PAGES_CSS, markdownToHtml, renderPage } from './html.js';
import { ReferenceDocuments } from './reference-documents.js';
import { pageHeaders, scalarPage, scalarScript, type ShownApi } from './scalar-page.js';
import { API_LOCATOR, type ApiLocator } from './api-locator.js';
import { listMembers } from '../http/grammar/fields.js';

const CACHE_5_MINUTES = 'public, max-age=300';
const CACHE_ONE_YEAR = 'public, max-age=31536000, immutable';
const HTML = 'text/html; charset=utf-8';

/**
 * Creates the controller of `GET {basePath}/openapi.json`. A function creates the class, because the base paths depend
 * on the configuration.
 */
export function createOpenApiController(basePaths: readonly string[]): Type<unknown> {
  @Controller([...basePaths])
  class OpenApiController {
    constructor(
      @Inject(ReferenceDocuments) readonly documents: ReferenceDocuments,
      @Inject(API_LOCATOR) readonly apiLocator: ApiLocator,
    ) {}

    @Get('openapi.json')
    document(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
      const [path = ''] = request.url.split('?');
      const { body, etag } = this.documents.openApi(this.apiLocator.findApiIndex({ path, message: request }));
      reply.header('cache-control', CACHE_5_MINUTES).header('etag', etag).header('x-content-type-options', 'nosniff');
      if (matchesEtag(request.headers['if-none-match'], etag)) void reply.code(304).send();
      else void reply.type('application/json; charset=utf-8').send(body);
    }
  }
  return OpenApiController;
}

/** ReferenceController serves the HTML pages and their assets below `/docs`. */
@Controller(REFERENCE_ROOT)
export class ReferenceController {
  constructor(
    @Inject(ReferenceDocuments) private readonly documents: ReferenceDocuments,
    @Inject(API_LOCATOR) private readonly places: ApiLocator,
  ) {}

  @Get()
  async reference(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.sendReference(this.apisAtHostOf(request), reply);
  }

  /** Sends the reference with the named API first. Throws `route_not_found` if the host does not serve this API. */
  @Get('apis/:name')
  async referenceOf(
    @Param('name') name: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const shown = this.apisAtHostOf(request);
    const first = shown.find((api) => api.name === name);
    if (first === undefined) throw new Problem('route_not_found');
    await this.sendReference([first, ...shown.filter((api) => api !== first)], reply);
  }

  @Get('errors')
  errors(@Res() reply: FastifyReply): void {
    this.sendPage(reply, errorListPage(REFERENCE_ROOT, this.documents.title));
  }

  @Get('errors/:code')
  error(@Param('code') code: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    if (isErrorCode(code)) {
      this.sendPage(reply, errorPage(REFERENCE_ROOT, code, this.documents.title));
      return;
    }
    // Browsers get an HTML page. Programs get a problem document.
    if (!asksForHtml(request.headers.accept)) {
      const detail = `There is no error code of this name; ${REFERENCE_ROOT}/errors lists all of them.`;
      throw new Problem('route_not_found', { detail, headers: ['Vary', 'Accept'] });
    }
    void reply.code(404).header('vary', 'accept');
    this.sendPage(reply, unknownCodePage(REFERENCE_ROOT, code, this.documents.title), 'no-store');
  }

  @Get('guide')
  guide(@Res() reply: FastifyReply): void {
    this.sendMarkdown(reply, 'Guide', this.documents.guide(this.positionsOf(reply)));
  }

  @Get('webhooks')
  webhooks(@Res() reply: FastifyReply): void {
    this.sendMarkdown(reply, 'Webhooks', withoutTitle(this.documents.webhooks()));
  }

  @Get('versioning')
  versioning(@Res() reply: FastifyReply): void {
    this.sendMarkdown(reply, 'Versioning', withoutTitle(this.documents.versioning(this.positionsOf(reply))));
  }

  @Get('assets/pages.css')
  @Header('content-type', 'text/css; charset=utf-8')
  @Header('cache-control', CACHE_5_MINUTES)
  styles(): string {
    return PAGES_CSS;
  }

  @Get('assets/:file')
  async asset(@Param('file') file: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const script = await scalarScript();
    if (file !== script.fileName) throw new Problem('route_not_found');
    const acceptsGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(request.headers['accept-encoding'] ?? '');
    if (acceptsGzip) void reply.header('content-encoding', 'gzip');
    void reply
      .type('text/javascript; charset=utf-8')
      .headers({ 'cache-control': CACHE_ONE_YEAR, vary: 'accept-encoding', 'x-content-type-options': 'nosniff' })
      .send(acceptsGzip ? script.gzipped : script.plain);
  }

  /** Returns the APIs that are served under the host name of a request. */
  private apisAtHostOf(request: FastifyRequest): ShownApi[] {
    const { apis } = this.documents;
    const names = this.documents.names;
    return this.places.findApiIndexes(request).flatMap((at) => {
      const api = apis[at];
      if (api === undefined) return [];
      return [{ name: names[at], title: api.title, url: `${api.basePath}/openapi.json` }];
    });
  }

  /** Returns the indexes of the APIs that are served under the host name of the request. */
  private positionsOf({ request }: FastifyReply): readonly number[] {
    return this.places.findApiIndexes(request);
  }

  private async sendReference(apis: readonly ShownApi[], reply: FastifyReply): Promise<void> {
    const { fileName } = await scalarScript();
    this.sendPage(reply, scalarPage(REFERENCE_ROOT, apis, fileName));
  }

  /**
   * Sends a page with rendered Markdown.
   * @param markdown Trailgate's own text, because HTML in it is not escaped
   */
  private sendMarkdown(reply: FastifyReply, title: string, markdown: string): void {
    this.sendPage(reply, renderPage(REFERENCE_ROOT, title, markdownToHtml(markdown), this.documents.title));
  }

  private sendPage(reply: FastifyReply, html: string, cacheControl = CACHE_5_MINUTES): void {
    const headers = { ...pageHeaders(this.documents.origins(this.positionsOf(reply))), 'cache-control': cacheControl };
    void reply.type(HTML).headers(headers).send(html);
  }
}

/** Removes the first heading, because the page shows the same title. */
function withoutTitle(markdown: string): string {
  return markdown.replace(/^## .*\n/, '');
}

/** Reports whether `Accept` contains HTML but not JSON. */
function asksForHtml(accept = ''): boolean {
  return /\btext\/html\b/i.test(accept) && !/[/+]json\b/i.test(accept);
}

/** Reports whether `If-None-Match` contains a tag or `*`. Compares weakly (RFC 9110 section 13.1.2). */
function matchesEtag(condition: string | undefined, etag: string): boolean {
  if (condition === undefined) return false;
  return listMembers(condition).some((tag) => ['*', etag].includes(tag.replace(/^W\//, '')));
}
