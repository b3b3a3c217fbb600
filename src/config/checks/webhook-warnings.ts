/**
 * Warns about webhook settings that are unsafe if other machines can reach the gateway. Also warns about a missing key
 * for webhook secrets.
 */
import { isLoopbackHost } from '../model/address-values.js';
import type { ConfigProblem } from '../model/problem.js';
import type { Environment, GatewayFile } from '../model/schema.js';
import type { SourceDocument } from '../source/source-document.js';
import { valueAt } from './schema-problems.js';

/** Returns the warnings, located at the settings that cause them. */
export function webhookWarnings(
  source: SourceDocument,
  { gateway, webhooks }: GatewayFile,
  { databaseUrl, secretsKey }: Environment,
): ConfigProblem[] {
  const warnings: ConfigProblem[] = [];
  const isReachable = !isLoopbackHost(gateway.host);
  if (isReachable && webhooks.allowHttp) {
    const message = 'sends the data of accounts without encryption to receivers that ask for http';
    warnings.push(source.problem(['webhooks', 'allowHttp'], message, 'leave it out where others use this gateway'));
  }
  if (isReachable && webhooks.allowPrivateNetworks.length > 0) {
    const message = 'lets people who can add webhook endpoints send requests into these networks';
    const hint = 'allow only networks of your own receivers, in which nothing trusts callers by their address';
    warnings.push(source.problem(['webhooks', 'allowPrivateNetworks'], message, hint));
  }
  // Without a `webhooks` section, the operator probably does not use webhooks and needs no key.
  const isConfigured = valueAt(source.toJS(), ['webhooks']) !== undefined;
  if (isConfigured && databaseUrl !== undefined && secretsKey === undefined) {
    const message = 'cannot be used: with DATABASE_URL their secrets need TRAILGATE_SECRETS_KEY, and it is not set';
    warnings.push(source.problem(['webhooks'], message, 'set it on every machine: openssl rand -base64 32', 'key'));
  }
  return warnings;
}
