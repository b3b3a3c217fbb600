/**
 * Cross-origin requests from browsers (Fetch standard, section 3.2). Before the first step: a preflight,
 * which carries no key, is answered here; every other response, errors too, says which pages may read it.
 * Where it is not configured nothing runs.
 */
import type { CorsConfig } from '../../config/model/listener-schema.js';
import { fieldsOfLines, linesOf } from '../../http1/grammar/fields.js';
import type { Exchange } from './exchange.js';
import type { Routes } from '../../admission/routes.js';

export class Cors {
  enabled = false;
  private anyOrigin = false;
  private origins: ReadonlySet<string> = new Set();
  /** What follows the origin in a response to a page that is allowed. */
  private responseFields: readonly string[] = [];
  private preflightFields: readonly string[] = [];

  constructor(
    config: CorsConfig,
    private readonly routes: Routes,
  ) {
    this.use(config);
  }

  /** Goes by this configuration from now on. */
  use(config: CorsConfig): void {
    this.enabled = config !== undefined;
    this.origins = new Set(config?.origins);
    this.anyOrigin = this.origins.has('*');
    const credentials = config?.allowCredentials === true ? ['Access-Control-Allow-Credentials', 'true'] : [];
    this.responseFields = [...listField('Access-Control-Expose-Headers', config?.exposedHeaders), ...credentials];
    this.preflightFields = [
      ...listField('Access-Control-Allow-Headers', config?.allowedHeaders),
      'Access-Control-Max-Age',
      String(Math.floor((config?.maxAge ?? 0) / 1_000)),
      ...credentials,
    ];
  }

  /**
   * Adds the fields to every response to the request, of a path of the API, that is going to be given.
   * @returns whether it is a preflight for a path that exists, which has no other
   * response than that of `respondToPreflight`.
   */
  apply(exchange: Exchange): boolean {
    if (!exchange.url.startsWith(this.routes.basePath)) return false;
    const { headers, method } = exchange.message;
    // The response to one page must not be handed to another by a cache.
    let lines = this.anyOrigin ? '' : 'Vary: Origin\r\n';
    const isPreflight =
      method === 'OPTIONS' &&
      headers.origin !== undefined &&
      headers['access-control-request-method'] !== undefined &&
      headers['content-length'] === undefined &&
      headers['transfer-encoding'] === undefined &&
      this.routes.methodsOf(exchange) !== undefined;
    if (this.allows(headers.origin)) {
      lines += `Access-Control-Allow-Origin: ${this.anyOrigin ? '*' : (headers.origin ?? '')}\r\n`;
      if (!isPreflight) lines += linesOf(this.responseFields);
    }
    exchange.corsLines = lines;
    return isPreflight;
  }

  /**
   * Fields of a response to a request that nobody could read, flat: its path is not known, so
   * that it may have been one of the API.
   * @param origin of the page, undefined where it is not known; asked for only where pages are told apart.
   */
  fieldsOfUnread(origin: () => string | undefined): readonly string[] {
    if (!this.enabled) return [];
    if (this.anyOrigin) return ['Access-Control-Allow-Origin', '*', ...this.responseFields];
    const page = origin();
    if (page === undefined || !this.allows(page)) return ['Vary', 'Origin'];
    return ['Vary', 'Origin', 'Access-Control-Allow-Origin', page, ...this.responseFields];
  }

  /** 204; to a page that is not allowed without a word about what it might do, which a browser takes for a no. */
  respondToPreflight(exchange: Exchange): void {
    const { nodeResponse, message } = exchange;
    const allowed = this.allows(message.headers.origin);
    const methods = ['Access-Control-Allow-Methods', this.routes.methodsOf(exchange) ?? ''];
    nodeResponse.writeHead(204, [
      ...fieldsOfLines(exchange.responseLines),
      ...(allowed ? [...methods, ...this.preflightFields] : []),
    ]);
    nodeResponse.end();
  }

  private allows(origin: string | undefined): boolean {
    return this.anyOrigin || (origin !== undefined && this.origins.has(origin));
  }
}

function listField(name: string, values: readonly string[] = []): string[] {
  return values.length === 0 ? [] : [name, values.join(', ')];
}
