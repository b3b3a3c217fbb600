/**
 * Runs a real OpenID Connect provider on a free port. Anyone can sign in under any name. Prints the issuer to standard
 * output.
 * `POST /-/claims` with `{sub, claims}` sets the claims of a user. Claims in `claims.atUserInfo` appear only at the
 * userinfo endpoint.
 * With `--claims-in-token`, the ID token also contains the claims, as with many providers.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import Provider from 'oidc-provider';

const isInToken = process.argv.includes('--claims-in-token');
const claimsOf = new Map();

const server = createServer();
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'trailgate',
      client_secret: 's'.repeat(40),
      redirect_uris: ['http://localhost/callback'],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
    },
  ],
  findAccount: (_context, sub) => ({
    accountId: sub,
    claims: (use) => {
      const { atUserInfo = {}, ...everywhere } = claimsOf.get(sub) ?? {};
      const usual = { sub, email: `${sub}@example.com`, email_verified: true, name: sub };
      return { ...usual, ...everywhere, ...(use === 'userinfo' ? atUserInfo : {}) };
    },
  }),
  claims: { openid: ['sub', 'groups'], email: ['email', 'email_verified'], profile: ['name'] },
  conformIdTokenClaims: !isInToken,
  pkce: { required: () => true },
  cookies: { keys: ['k'.repeat(20)] },
});
// The port of the listener differs in each test.
provider.Client.prototype.redirectUriAllowed = (uri) => /^http:\/\/localhost(:\d+)?\/admin\/v1\/sign-in\//.test(uri);

const answer = provider.callback();
server.on('request', async (request, response) => {
  if (request.url !== '/-/claims') return answer(request, response);
  const { sub, claims } = await json(request);
  claimsOf.set(sub, claims);
  response.writeHead(204).end();
});
process.stdout.write(`${issuer}\n`);
