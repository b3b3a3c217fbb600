/** Request fields that some framework, server or proxy trusts. The gateway must not forward a client's value of any. */

/** Field names in lower case, grouped by what a backend derives from them. */
export const TRUSTED_NAMES: readonly string[] = [
  // identity
  ...words('x-account-id x-api-key-id x-api-scopes x-api-environment remote-user x-remote-user'),
  ...words('x-forwarded-user x-webauth-user x-auth-request-email x-authenticated-userid x-consumer-id'),
  ...words('x-ms-client-principal x-ms-client-principal-id x-goog-authenticated-user-email x-goog-iap-jwt-assertion'),
  ...words('x-amzn-oidc-data cf-access-authenticated-user-email tailscale-user-login client-cert ssl-client-verify'),
  ...words('x-ssl-client-s-dn x-client-cert x-forwarded-client-cert x-arr-clientcert'),
  // address
  ...words('x-real-ip client-ip x-client-ip x-cluster-client-ip true-client-ip cf-connecting-ip'),
  ...words('cf-connecting-ipv6 fastly-client-ip fly-client-ip x-azure-clientip x-azure-socketip'),
  ...words('x-envoy-external-address x-proxyuser-ip x-originating-ip x-remote-ip x-remote-addr'),
  ...words('x-original-forwarded-for x-appengine-user-ip x-vercel-forwarded-for wl-proxy-client-ip forwarded-for'),
  // method
  ...words('x-http-method x-http-method-override x-method-override x-original-method'),
  // URL
  ...words('x-original-url x-original-host x-original-uri x-rewrite-url x-override-url x-http-path-override'),
  ...words('x-host x-forwarded-prefix front-end-https x-url-scheme x-scheme x-script-name path-info'),
  ...words('x-middleware-subrequest x-middleware-rewrite x-invoke-path x-envoy-original-path x-amzn-trace-id'),
  // files
  ...words('x-sendfile x-sendfile-type x-sendfile2 x-accel-mapping x-accel-redirect x-accel-buffering'),
  ...words('x-lighttpd-send-file x-reproxy-url x-reproxy-file'),
];

function words(text: string): readonly string[] {
  return text.split(' ');
}
