/**
 * Applies `gateway.cors` to requests of pages in browsers (Fetch standard, CORS protocol), before the first step.
 * Responds to preflights, which carry no API key. Adds the CORS fields to all other responses, including errors.
 */
import type { CorsConfig } from '../../config/model/listener-schema.js';
import { fieldsOfLines, linesOf } from '../../http/grammar/fields.js';
import type { Exchange } from './exchange.js';
import type { Routes } from '../../admission/routes.js';
import { SERVER_METHODS } from './options.js';

export class Cors {
  enabled = false;
  private anyOrigin = false;
  private origins: ReadonlySet<string> = new Set();
  /** Fields after `Access-Control-Allow-Origin` in responses to allowed pages: names and values in turn. */
  private responseFields: readonly string[] = [];
  private preflightFields: readonly string[] = [];

  constructor(
    config: CorsConfig,
    private readonly routes: Routes,
  ) {
    this.applyConfig(config);
  }

  /** Applies a new configuration. Without `gateway.cors`, disables CORS. */
  applyConfig(config: CorsConfig): void {
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
   * Sets the CORS fields for the response to a request, whatever its path. A page must be able to read that its path,
   * query or version is wrong.
   * @returns whether the request is a preflight. The caller must then call `respondToPreflight`.
   */
  apply(exchange: Exchange): boolean {
    const { headers, method } = exchange.message;
    // `Vary` keeps caches from sending the response for one page to another page.
    let lines = this.anyOrigin ? '' : 'Vary: Origin\r\n';
    const isPreflight =
      method === 'OPTIONS' &&
      headers.origin !== undefined &&
      headers['access-control-request-method'] !== undefined &&
      headers['content-length'] === undefined &&
      headers['transfer-encoding'] === undefined &&
      exchange.url.startsWith('/');
    if (this.allows(headers.origin)) {
      lines += `Access-Control-Allow-Origin: ${this.anyOrigin ? '*' : (headers.origin ?? '')}\r\n`;
      if (!isPreflight) lines += linesOf(this.responseFields);
    }
    exchange.corsLines = lines;
    return isPreflight;
  }

  /**
   * Returns the CORS fields for the response to a request that could not be parsed: names and values in turn.
   * @param origin returns the origin of the page, or undefined if the origin is unknown. Called only if `gateway.cors`
   *   lists origins.
   */
  fieldsOfUnread(origin: () => string | undefined): readonly string[] {
    if (!this.enabled) return [];
    if (this.anyOrigin) return ['Access-Control-Allow-Origin', '*', ...this.responseFields];
    const page = origin();
    if (page === undefined || !this.allows(page)) return ['Vary', 'Origin'];
    return ['Vary', 'Origin', 'Access-Control-Allow-Origin', page, ...this.responseFields];
  }

  /**
   * Responds to a preflight with 204 for any path. For any other status, browsers would hide the error of the actual
   * request. The response to a page that is not allowed has no CORS permission, so the browser sends no request.
   */
  respondToPreflight(exchange: Exchange): void {
    const { nodeResponse, message } = exchange;
    const allowed = this.allows(message.headers.origin);
    const methods = ['Access-Control-Allow-Methods', this.routes.methodsOf(exchange) ?? SERVER_METHODS];
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
