/**
 * Writes the guide for receivers of webhooks, with code samples that verify webhooks. A test runs the samples on real
 * deliveries.
 */
import { PUBLIC_KEYS_PATH } from '../../proxy/routing/built-in-paths.js';
import { SAMPLE_ORIGIN, WEBHOOK_SAMPLES } from './webhook-samples.js';

/** Returns the guide as Markdown. A test checks that `docs/webhooks.md` has the same text. */
export function webhookGuide(publicUrl = SAMPLE_ORIGIN): string {
  const samples = WEBHOOK_SAMPLES.map(
    ({ title, language, code }) =>
      `### ${title}\n\n\`\`\`${language}\n${code.replaceAll(SAMPLE_ORIGIN, publicUrl)}\n\`\`\`\n`,
  );
  return `## Webhooks
A webhook is a \`POST\` of JSON to your endpoint: \`{"id", "type", "timestamp", "account_id", "data"}\`. It is \
signed with [Standard Webhooks](https://www.standardwebhooks.com) 1.0.0. Respond with a 2xx within 15 seconds, unless \
your provider has set another time, and do the work afterwards. A delivery can arrive twice. To notice that, store \
\`webhook-id\`, which is the same in every attempt.

Any other status is a failure, also a redirect. A failed delivery is retried after 5 seconds, 5 and 30 minutes, and 2, \
5, 10, 14, 20 and 24 hours. Each pause varies by up to 10 %. An endpoint can have another schedule. \`Retry-After\` of \
a 429 or 503 is obeyed. A 410 disables the endpoint at once. So do five days without a successful delivery. Pending \
events are then kept for 30 days.

When you have fixed the receiver, you don't have to wait for the next attempt. Pending deliveries are sent when you \
enable the endpoint, change its URL, rotate its secret or resend events. If a name has two addresses, the log of \
attempts shows the failure that got furthest, such as a wrong certificate.

| field | meaning |
|---|---|
| \`webhook-id\` | ID of the event |
| \`webhook-timestamp\` | time of this attempt, in seconds since 1970 |
| \`webhook-signature\` | one or more signatures, separated by spaces: \`v1,…\` of a secret, \`v1a,…\` of a key pair |

Verify a webhook before you read its body:

1. Use the body as received, byte for byte. JSON that was parsed and written again has another signature.
2. Reject a timestamp that differs from your clock by more than five minutes.
3. Compute the HMAC-SHA256 of \`webhook-id.webhook-timestamp.body\`. The key is the base64 after \`whsec_\`, decoded.
4. Accept the webhook if one of the \`v1\` signatures is equal. Compare in constant time. During a rotation there are \
two: one of the old secret, and one of the new.

A receiver that should not be able to create signatures uses the public key. \`v1a\` is an ed25519 signature of the \
same content. \`GET ${publicUrl}${PUBLIC_KEYS_PATH}?endpoint=whe_…\` needs no API key. It returns \
\`{"keys": [{"key": "whpk_…", "created_at", "expires_at"}]}\`: the current key first, and during a rotation the \
previous one with its end. For an unknown endpoint, the list is empty. Cache the keys for the five minutes of \
\`Cache-Control\`, or longer if the server is not reachable. After a rotation, the old key signs as long as the old \
secret: a day, or the time that was chosen. The code below verifies \`v1a\`. The libraries do not.

The libraries \`standardwebhooks\`, \`svix\` and \`openai\` do all of this. \`replicate\` 1.4.0 \
(\`validateWebhook\`) **does not check the timestamp**. Check it yourself, or anyone with a recorded delivery can send \
it again.

${samples.join('\n')}`;
}
