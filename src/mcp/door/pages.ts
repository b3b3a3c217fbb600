/** What pages of browsers are told that may ask (Fetch standard, section 3.2). */
import type { DoorRequest } from '../../admission/doors/door-request.js';
import { fieldsOfLines } from '../../http1/grammar/fields.js';

const PREFLIGHT_SECONDS = 600;
const PREFLIGHT =
  'Access-Control-Allow-Methods: POST\r\n' +
  'Access-Control-Allow-Headers: Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name\r\n' +
  `Access-Control-Max-Age: ${PREFLIGHT_SECONDS}\r\n`;

/** Lets the page read the response that may ask. */
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
