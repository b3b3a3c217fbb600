/** What makes attempts of webhooks, by the rules of the running configuration: for the workers, and for tests. */
import { isDeepStrictEqual } from 'node:util';
import type { Ground } from '../config/ground.js';
import { WebhookSender } from '../webhooks/sending/attempt.js';
import { outboundRules } from '../http/outbound/destination.js';
import { GuardedConnections } from '../http/outbound/guarded-agent.js';
import { nameResolver, type ResolveName } from '../http/outbound/name-resolver.js';

/** For a connection to each address that is tried. */
const CONNECT_TIMEOUT_MS = 5_000;

/** SenderOptions replaces what a test cannot have of the system. */
export interface SenderOptions {
  readonly resolve?: ResolveName;
}

/** Opens the sender of webhooks; it follows `webhooks`. */
export function webhookSender(
  { config, clock, shutdown }: Ground,
  { resolve = nameResolver() }: SenderOptions = {},
): WebhookSender {
  let { webhooks } = config.current.file;
  let rules = outboundRules(webhooks);
  config.onChange(({ config: { file } }) => () => {
    // The same rules as long as they say the same: with others all connections are opened anew.
    if (isDeepStrictEqual(webhooks, file.webhooks)) return;
    webhooks = file.webhooks;
    rules = outboundRules(webhooks);
  });
  const connections = new GuardedConnections({ resolve, connectTimeoutMs: CONNECT_TIMEOUT_MS });
  shutdown.add('close receivers', async () => connections.close());
  return new WebhookSender({ connections, rules: () => rules, clock });
}
