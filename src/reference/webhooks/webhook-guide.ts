/** Guide for receivers of webhooks: how to verify them, with code that a test runs on real deliveries. */
import { PUBLIC_KEYS_PATH } from '../../proxy/routing/built-in-paths.js';
import { SAMPLE_ORIGIN, WEBHOOK_SAMPLES } from './webhook-samples.js';

/** Returns the guide's chapter on webhooks, which is also the body of `docs/webhooks.md`. Markdown. */
export function webhookGuide(publicUrl = SAMPLE_ORIGIN): string {
  const samples = WEBHOOK_SAMPLES.map(
    ({ title, language, code }) =>
      `### ${title}\n\n\`\`\`${language}\n${code.replaceAll(SAMPLE_ORIGIN, publicUrl)}\n\`\`\`\n`,
  );
  return `## Webhooks
A webhook is a \`POST\` of JSON to your endpoint: \`{"id", "type", "timestamp", "account_id", "data"}\`. It is \
signed as [Standard Webhooks](https://www.standardwebhooks.com) 1.0.0 says. Respond with a 2xx within 15 seconds \
(where the operator has not set another time), and do the work afterwards. A delivery can come twice: remember \
\`webhook-id\`, which is the same in every attempt.

Anything but a 2xx is a failure, a redirect too. It comes again after 5 seconds, 5 and 30 minutes, 2, 5, 10, 14, 20 \
and 24 hours, each a tenth more or less, unless the endpoint has another schedule; the \`Retry-After\` of a 429 or 503 \
is kept. A 410 disables the endpoint at once, and so do five days in which nothing arrives; what waits then is kept \
for 30 days.

After you mend the receiver you need not wait for the next attempt. Pending deliveries go out at once when you enable \
the endpoint, change its URL, rotate its secret or replay. Where a name has two addresses, the log of attempts shows \
the failure that got furthest, such as a wrong certificate.

| field | meaning |
|---|---|
| \`webhook-id\` | the event |
| \`webhook-timestamp\` | seconds since 1970, of this attempt |
| \`webhook-signature\` | one or more signatures, parted by spaces: \`v1,…\` of a secret, \`v1a,…\` of a key pair |

Verify before you read anything of it:

1. Take the body as it came, byte for byte. JSON that was parsed and written again has another signature.
2. Refuse a timestamp that is more than five minutes away from your clock, before or after.
3. Make HMAC-SHA256 over \`webhook-id.webhook-timestamp.body\`. Its key is what the base64 behind \`whsec_\` decodes to.
4. Accept when one of the \`v1\` signatures is the same, compared in constant time. While a secret is rotated \
there are two, one of the old secret and one of the new: either is enough.

Whoever verifies and is not to be able to forge takes the public key instead: \`v1a\` is ed25519 over the same \
content. \`GET ${publicUrl}${PUBLIC_KEYS_PATH}?endpoint=whe_…\`, without an API key, has \
\`{"keys": [{"key": "whpk_…", "created_at", "expires_at"}]}\`: those that sign now, the current one first. While a \
secret is rotated the one of before is there too, with its end; of an endpoint that is not there none. Keep them for \
the five minutes that \`Cache-Control\` says, and longer where none can be had: an old key signs for a day beside the \
new one, unless it was ended at once. No library of these takes \`v1a\`; the code below does.

The libraries \`standardwebhooks\`, \`svix\` and \`openai\` do all of this. \`replicate\` 1.4.0 \
(\`validateWebhook\`) **does not look at the timestamp**: with it, check the time yourself, or anybody who has \
recorded a delivery can send it again.

${samples.join('\n')}`;
}
