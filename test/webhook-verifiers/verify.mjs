/**
 * Verifies each webhook of a JSON array on standard input with each library. Prints a JSON array of webhook, library
 * and outcome.
 */
import { text } from 'node:stream/consumers';
import OpenAI from 'openai';
import { validateWebhook } from 'replicate';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';

const VERIFIERS = {
  standardwebhooks: ({ secret, headers, body }) => new StandardWebhook(secret).verify(body, headers),
  svix: ({ secret, headers, body }) => new SvixWebhook(secret).verify(body, headers),
  openai: ({ secret, headers, body }) => new OpenAI({ apiKey: 'none' }).webhooks.unwrap(body, headers, secret),
  async replicate({ secret, headers, body }) {
    const request = new Request('http://receiver.example/', { method: 'POST', headers, body });
    if (!(await validateWebhook(request, secret))) throw new Error('not valid');
  },
};

const outcomes = [];
for (const webhook of JSON.parse(await text(process.stdin))) {
  for (const [name, verify] of Object.entries(VERIFIERS)) {
    try {
      await verify(webhook);
      outcomes.push([webhook.what, name, 'accepted']);
    } catch (error) {
      outcomes.push([webhook.what, name, `refused: ${error.message}`]);
    }
  }
}
process.stdout.write(JSON.stringify(outcomes));
