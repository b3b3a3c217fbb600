/** Defines the schema of `admin` in `gateway.yaml`, with the admin listener, sign-in and mail. */
import { z } from 'zod';
import { address, host, isLoopbackHost, origin, proxyAddress } from './address-values.js';
import { adminHsts, port, tlsPair } from './listener-schema.js';
import { mailAddress, mailUrl } from './mail-values.js';
import { untilRestart } from './until-restart.js';
import { duration } from './values.js';

const DAY_MS = 86_400_000;

export const ADMIN_URL_MESSAGE =
  'must be an origin such as https://admin.example.com, in lower case and without a slash behind it';
export const PLAIN_URL_MESSAGE = 'must be https: over http, passwords and sessions could be read on the way';

/** Schema of an origin that browsers open. The origin must use HTTPS, unless its host is a loopback host. */
const httpsOrigin = z
  .string()
  .refine((text) => text !== '*' && origin.safeParse(text).success && /^https?:/.test(text), {
    error: ADMIN_URL_MESSAGE,
    abort: true,
  })
  .refine((text) => text.startsWith('https:') || isLoopbackHost(new URL(text).hostname), PLAIN_URL_MESSAGE);

const networks = z.array(address);

const health = z
  .strictObject({
    host: host.default('127.0.0.1').describe('Address to listen on.'),
    port: port.describe('Port to listen on; 0: any free one.'),
  })
  .optional()
  .describe('A separate listener for /livez, /readyz and /metrics, instead of the admin listener.');

const limits = z
  .strictObject({
    connections: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(1_024)
      .describe('Most concurrent connections; further ones are closed at once.'),
    connectionsPerAddress: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(128)
      .describe('The same per address (IPv6: one /64), except `trustedProxies` and this machine; 0: no limit.'),
  })
  .prefault({})
  .describe('Limits of connections.');

const sessions = z
  .strictObject({
    idle: duration
      .refine((ms) => ms <= DAY_MS, 'must be at most 24h')
      .prefault('30m')
      .describe('How long a session lasts without activity, at most 24h. Open pages do not count as activity.'),
    absolute: duration.prefault('12h').describe('How long a session lasts in total.'),
  })
  .refine(({ idle, absolute }) => idle <= absolute, {
    path: ['idle'],
    error: 'must not be longer than `absolute`, which ends the session anyway',
  })
  .prefault({})
  .describe('Sessions of members.');

const operators = z
  .strictObject({
    claim: z
      .string()
      .min(1)
      .max(200)
      .describe(
        'Claim of the ID token or userinfo endpoint that makes a member an operator at each sign-in. ' +
          'Without the claim, the member stops being one.',
      ),
    value: z.string().min(1).max(200).describe('Value that the claim must equal, or contain if it is a list.'),
  })
  .optional()
  .describe('Members that the provider makes operators.');

const provider = z.strictObject({
  issuer: z
    .url({ protocol: /^https?$/, error: 'must be the URL of an issuer, such as https://login.example.com' })
    .refine((text) => !/[?#]/.test(text), 'must not have a query or a fragment')
    .refine((text) => text.startsWith('https:') || isLoopbackHost(new URL(text).hostname), PLAIN_URL_MESSAGE)
    .describe('Issuer of the provider, exactly as in OpenID Connect Discovery.'),
  clientId: z.string().min(1).max(500).describe('Client ID at the provider.'),
  clientSecret: z.string().min(1).max(2_000).describe("Client secret, such as `'${COMPANY_CLIENT_SECRET}'`."),
  label: z.string().min(1).max(60).describe('Label of its button.'),
  scopes: z
    .array(z.string().regex(/^[!#-[\]-~]+$/, 'must be a scope such as email'))
    .default(['openid', 'email', 'profile'])
    .refine((scopes) => scopes.includes('openid'), 'must have openid')
    .describe('Scopes that are requested.'),
  domains: z
    .array(z.string().regex(/^[a-z0-9.-]+\.[a-z0-9-]+$/, 'must be a domain such as example.com, in lower case'))
    .default([])
    .describe('Email domains that it can vouch for; none: all.'),
  operators,
});

const signIn = z
  .strictObject({
    passwords: z
      .boolean()
      .default(true)

      .describe(
        'Whether members can have a password, and sign in and confirm with it. Without, password links ' +
          'sign in directly, and invitations use a provider if there is one.',
      ),
    passkeys: z
      .boolean()
      .default(true)
      .describe('Whether members can have passkeys, and sign in and confirm with them.'),
    providers: z
      .record(
        z
          .string()
          .regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be a lower-case name of at most 40 characters')
          .refine((name) => name !== 'constructor', 'is a name that every object has'),
        provider,
      )
      .default({})
      .describe('Identity providers by name (OpenID Connect); the name is part of the callback URL.'),
  })
  .prefault({})
  .describe('How members sign in.');

const mail = z
  .strictObject({
    url: mailUrl.describe('Mail server: `smtps://user:password@host`, or `smtp://` with STARTTLS.'),
    from: mailAddress.describe('Sender: `Name <address>`, or an address.'),
    requireTls: z
      .boolean()
      .default(true)
      .describe(
        'Whether an `smtp://` server must offer STARTTLS with a trusted certificate; not required of this ' +
          'machine.',
      ),
  })
  .optional()
  .describe(
    'The mail server for invitations and password resets. Without it, people pass on the links that they create.',
  );

const portal = z
  .strictObject({
    returnOrigins: z
      .array(httpsOrigin)
      .default([])
      .describe('Origins that a portal session can return to; none: no portal sessions.'),
  })
  .prefault({})
  .describe("Portal sessions: members of a company's own system, without a second sign-in.");

export const admin = z
  .strictObject({
    host: untilRestart(host.default('127.0.0.1').describe('Address to listen on.')),
    port: untilRestart(port.default(8081).describe('Port to listen on; 0: any free one.')),
    url: untilRestart(
      httpsOrigin
        .optional()
        .describe('Origin under which people reach the admin listener. Required if other machines can reach `host`.'),
    ),
    hosts: z
      .array(host)
      .max(100)
      .default([])
      .describe('Further host names that programs use, such as a service in a cluster.'),
    tls: untilRestart(
      tlsPair.describe(
        'Certificate and key files (PEM), read again when they change; HTTP/1.1. Without it: plain HTTP.',
      ),
    ),
    hsts: untilRestart(adminHsts),
    trustedProxies: untilRestart(
      z
        .array(proxyAddress)
        .default([])
        .describe('Load balancers whose X-Forwarded-For is trusted on the admin listener.'),
    ),
    health: untilRestart(health),
    healthNetworks: networks
      .optional()
      .describe('Networks that can use /livez, /readyz and /metrics on the admin listener; others get 404.'),
    operatorNetworks: networks
      .optional()
      .describe('Networks from which operator routes and tokens work; elsewhere the routes are 404.'),
    limits: untilRestart(limits),
    operatorRequestsPerMinute: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(6_000)
      .describe('Requests per minute with the operator token; sessions and other tokens have 1,200.'),
    sessions,
    signIn,
    mail,
    portal,
  })
  .prefault({})
  .describe('The panel, the admin API, health and metrics.');

/** Validated settings of the admin listener. */
export type AdminConfig = z.output<typeof admin>;
/** Settings of an identity provider. */
export type ProviderConfig = AdminConfig['signIn']['providers'][string];
/** Settings of the mail server. */
export type MailConfig = NonNullable<AdminConfig['mail']>;
