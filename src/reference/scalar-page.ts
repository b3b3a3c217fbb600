/**
 * Renders the interactive API reference (Scalar). The gateway serves Scalar's script, so that browsers send no requests
 * to third parties.
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import fastify from 'fastify';
import { escapeHtml } from './html.js';

/** ScriptAsset is Scalar's script, ready to send. */
export interface ScriptAsset {
  /** File name with a hash of the content, so that browsers can cache the file forever. */
  readonly fileName: string;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
}

/** Settings of Scalar, which turn off all features that need another server. */
const CONFIGURATION = {
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  persistAuth: false,
  documentDownloadType: 'json',
  metaData: { referrer: 'no-referrer' },
  theme: 'default',
} as const;

let script: Promise<ScriptAsset> | undefined;

/** Returns Scalar's script. The first call loads its 4 MB, because most processes never need the script. */
export async function scalarScript(): Promise<ScriptAsset> {
  script ??= readScript();
  return script;
}

/** Reads the script from Scalar's Fastify plugin. The plugin offers the script only through a route. */
async function readScript(): Promise<ScriptAsset> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const server = fastify();
  await server.register(scalar, { routePrefix: '/', configuration: { url: '/openapi.json' } });
  const { body } = await server.inject('/js/scalar.js');
  await server.close();
  const plain = Buffer.from(body.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n'));
  const hash = createHash('sha256').update(plain).digest('hex').slice(0, 16);
  return { fileName: `scalar.${hash}.js`, plain, gzipped: await promisify(gzip)(plain) };
}

/** ShownApi is an API on the reference page. */
export interface ShownApi {
  readonly name: string | undefined;
  readonly title: string;
  /** Path of its OpenAPI document on the host of the page. */
  readonly url: string;
}

/**
 * Renders the page, with a menu of APIs if there are several. The page has no inline script, so that the content
 * security policy can forbid inline scripts.
 * @param root path of the reference, such as `/docs`
 */
export function scalarPage(root: string, apis: readonly ShownApi[], scriptFile: string): string {
  const title = apis[0]?.title ?? 'API';
  const links = apis.map(
    (api) => `<a href="${api.url}">OpenAPI document${apis.length === 1 ? '' : ` of ${escapeHtml(api.title)}`}</a>`,
  );
  const sources = apis.map((api) => ({ title: api.title, slug: api.name ?? 'api', url: api.url }));
  const configuration = apis.length === 1 ? CONFIGURATION : { ...CONFIGURATION, sources };
  const single = apis.length === 1 ? ` data-url="${apis[0]?.url}"` : '';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
</head>
<body>
<noscript>This page needs JavaScript. The same in plain form: \
${links.join(', ')}, <a href="${root}/errors">errors</a>.</noscript>
<script id="api-reference" type="application/json"${single} \
data-configuration="${escapeHtml(JSON.stringify(configuration))}"></script>
<script src="${root}/assets/${scriptFile}"></script>
</body>
</html>
`;
}

/**
 * Returns the headers of every page. Pages can load from their own origin only, and cannot be framed.
 * @param origins origins of the APIs, to which pages can also send requests
 */
export function pageHeaders(origins: readonly string[]): Record<string, string> {
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      // Scalar's script inserts styles into the page.
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data: blob:",
      "font-src 'self' data:",
      // "Try it" calls the API, which may have another origin than this page.
      `connect-src 'self' ${origins.join(' ')}`,
      "worker-src 'self' blob:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  };
}
