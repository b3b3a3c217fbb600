/** What whoever receives webhooks reads: how to verify them, with code that a test runs on deliveries of our own. */
import { WEBHOOK_SAMPLES } from './webhook-samples.js';

/** The part on webhooks of the guide, which is also `docs/webhooks.md` below its title. Markdown. */
export function webhookGuide(): string {
  const samples = WEBHOOK_SAMPLES.map(
    ({ title, language, code }) => `### ${title}\n\n\`\`\`${language}\n${code}\n\`\`\`\n`,
  );
  return `## Webhooks
A webhook is a \`POST\` of JSON to your endpoint: \`{"id", "type", "timestamp", "account_id", "data"}\`. It is \
signed as [Standard Webhooks](https://www.standardwebhooks.com) 1.0.0 says. Respond with a 2xx within 15 seconds \
(where the operator has not set another time), and do the work afterwards. A delivery can come twice: remember \
\`webhook-id\`, which is the same in every attempt.

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

The libraries \`standardwebhooks\`, \`svix\` and \`openai\` do all of this. \`replicate\` 1.4.0 \
(\`validateWebhook\`) **does not look at the timestamp**: with it, check the time yourself, or anybody who has \
recorded a delivery can send it again.

${samples.join('\n')}`;
}
