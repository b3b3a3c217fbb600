/**
 * Names of request fields that backends, frameworks and proxies trust. These fields contain identity, client address,
 * method, URL, or files to serve instead of the backend's response. Only the gateway may set them. A client's copy
 * never reaches a backend.
 *
 * Names are compared in the form of CGI and WSGI servers: case-insensitive, with `_` for every character that is
 * neither a letter nor a digit. For these servers, `X.Account.Id` and `X~Account~Id` are the same name as
 * `X-Account-Id`.
 */
import { HOP_BY_HOP_FIELDS, IDENTITY_FIELDS } from './connection-fields.js';

/** Trusted names in CGI form. */
const NAMES: ReadonlySet<string> = new Set([
  ...[...HOP_BY_HOP_FIELDS, ...IDENTITY_FIELDS].map(cgiForm),
  // Hop-by-hop fields, and fields that the gateway sets.
  ...words('expect host http2_settings authorization forwarded via traceparent x_api_environment'),
  // A forged second `Content-Length`. The caller recognizes the real field by its exact name first.
  'content_length',
  // CGI turns `Proxy` into HTTP_PROXY. Many libraries send their own requests to that proxy (httpoxy, CVE-2016-5385).
  'proxy',
  // Identity, as set by authenticating proxies and identity-aware load balancers.
  ...words('remote_user x_remote_user x_webauth_user x_authenticated_user x_authenticated_userid'),
  ...words('x_credential_identifier x_anonymous_consumer cf_ipcountry client_cert client_cert_chain'),
  // Client address.
  ...words('client_ip x_client_ip x_real_ip x_cluster_client_ip true_client_ip fastly_client_ip'),
  ...words('x_originating_ip x_remote_ip x_remote_addr remote_addr x_proxyuser_ip x_coming_from'),
  ...words('x_nf_client_connection_ip do_connecting_ip x_sucuri_clientip ali_cdn_real_ip cdn_src_ip'),
  ...words('incap_client_ip http_client_ip proxy_client_ip wl_proxy_client_ip x_forwarded forwarded_for'),
  ...words('forwarded_for_ip x_originally_forwarded_for x_true_ip x_trusted_ip'),
  // HTTP method.
  ...words('x_method_override x_tunnel_method'),
  // URL: scheme, host, port and path.
  ...words('front_end_https https x_https x_scheme x_url_scheme cf_visitor'),
  ...words('fastly_ssl x_host x_server_name x_script_name script_name path_info request_uri'),
  ...words('x_request_uri x_path_info x_waws_unencoded_url x_matched_path x_now_route_matches'),
  // Files that a proxy serves instead of the response. Rack and Symfony also trust these fields in requests.
  ...words('x_reproxy_url x_reproxy_file x_lighttpd_send_file x_lighttpd_send_tempfile x_litespeed_location'),
  // AWS load balancers set this field. A backend may therefore trust it.
  'x_amzn_trace_id',
]);

/** Prefixes of trusted names in CGI form. */
const PREFIXES = [
  'x_forwarded_',
  'x_trailgate_',
  // `X-Original-URL`, `X-Original-Method`, `X-Rewrite-URL`, `X-Override-URL`, `X-HTTP-Method-Override` and others.
  ...words('x_original_ x_rewrite_ x_override_ x_http_'),
  // Application servers and load balancers: Next.js, Envoy, Azure, Fly.io, Cloudflare, App Engine, Vercel, IIS.
  ...words('x_middleware_ x_invoke_ x_envoy_ x_azure_ fly_ cf_connecting_ x_appengine_ x_vercel_'),
  'x_arr_',
  // Files, as above: `X-Sendfile-Type`, `X-Accel-Mapping` and others.
  ...words('x_sendfile x_accel_'),
  // Identity: certificates, Cloudflare Access, Google IAP, Amazon, Azure, Kong, oauth2-proxy, Tailscale.
  ...words('ssl_client_ x_ssl_ x_client_cert cf_access_ x_goog_authenticated_ x_goog_iap_ x_amzn_oidc_'),
  ...words('x_ms_client_principal x_consumer_ x_auth_request_ tailscale_user_'),
];

/** Reports whether a backend could trust a field with this name. The gateway must then remove the field. */
export function isTrustedName(name: string): boolean {
  const inCgiForm = cgiForm(name);
  return NAMES.has(inCgiForm) || PREFIXES.some((prefix) => inCgiForm.startsWith(prefix));
}

/**
 * Converts a field name to CGI form: lower case, with `_` for every character except letters and digits. Does not add
 * CGI's prefix `HTTP_`.
 */
function cgiForm(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '_');
}

function words(text: string): readonly string[] {
  return text.split(' ');
}
