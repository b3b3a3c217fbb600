/**
 * Adds CORS to the MCP server, for pages in browsers (Fetch standard, CORS protocol). Origins have been checked before
 * (`allowed-callers.ts`).
 */
import type { EndpointRequest } from '../../admission/mounted/endpoint-request.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';

const PREFLIGHT_SECONDS = 600;
/**
 * Fields of preflight responses. The server has no sessions. But clients that also use servers with sessions send
 * `Mcp-Session-Id`, `Last-Event-ID` and DELETE. A failed preflight would hide the 405 from them.
 */
const PREFLIGHT =
  'Access-Control-Allow-Methods: GET, POST, DELETE\r\n' +
  'Access-Control-Allow-Headers: Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, ' +
  'Mcp-Session-Id, Last-Event-ID\r\n' +
  `Access-Control-Max-Age: ${PREFLIGHT_SECONDS}\r\n`;

/** Sets the CORS fields that let the requesting page read the response. Does nothing for requests without `Origin`. */
export function letPageRead(request: EndpointRequest): void {
  const { origin } = request.message.headers;
  if (origin === undefined) return;
  request.corsLines =
    `Vary: Origin\r\nAccess-Control-Allow-Origin: ${origin}\r\n` +
    'Access-Control-Expose-Headers: Retry-After, WWW-Authenticate, X-Request-Id\r\n';
}

/** Responds to a preflight with 204. A preflight carries no key. */
export function respondToPreflight(request: EndpointRequest): void {
  request.nodeResponse.writeHead(204, fieldsOfLines(PREFLIGHT + request.responseLines)).end();
}
