/** What pages of browsers are told that may ask (Fetch standard, section 3.2). */
import type { DoorRequest } from '../../admission/doors/door-request.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';

const PREFLIGHT_SECONDS = 600;
/**
 * The server has no sessions. Clients that also talk to servers with sessions send `Mcp-Session-Id`, `Last-Event-ID`
 * and DELETE: a refused preflight would hide the 405 from them.
 */
const PREFLIGHT =
  'Access-Control-Allow-Methods: GET, POST, DELETE\r\n' +
  'Access-Control-Allow-Headers: Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, ' +
  'Mcp-Session-Id, Last-Event-ID\r\n' +
  `Access-Control-Max-Age: ${PREFLIGHT_SECONDS}\r\n`;

/** Lets the page that asks read the response. */
export function letPageRead(request: DoorRequest): void {
  const { origin } = request.message.headers;
  if (origin === undefined) return;
  request.corsLines =
    `Vary: Origin\r\nAccess-Control-Allow-Origin: ${origin}\r\n` +
    'Access-Control-Expose-Headers: Retry-After, WWW-Authenticate, X-Request-Id\r\n';
}

/** Responds to a preflight, which carries no key. */
export function respondToPreflight(request: DoorRequest): void {
  request.nodeResponse.writeHead(204, fieldsOfLines(PREFLIGHT + request.responseLines)).end();
}
