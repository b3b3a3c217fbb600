/**
 * One attempt of a webhook: judge its destination, sign, send, judge the response. It never fails: what went wrong is
 * what came of it.
 */
import type { GuardedConnections } from '../../http/outbound/guarded-agent.js';
import { parseDestination, type OutboundRules } from '../../http/outbound/destination.js';
import { sendGuarded, type GuardedResponse } from '../../http/outbound/guarded-request.js';
import { OutboundFailed, type FailureReason } from '../../http/outbound/outbound-failed.js';
import { OutboundRefused } from '../../http/outbound/outbound-refused.js';
import type { Clock } from '../../platform/clock.js';
import { METRICS, type OwnResource, type WebhookAttemptOutcome } from '../../platform/metrics.js';
import { resourceOf, SHORTAGES } from '../../platform/resources/shortages.js';
import { formatUtc } from '../../platform/rfc3339.js';
import { VERSION } from '../../platform/version.js';
import { attemptResult, type AttemptResult } from './attempt-outcome.js';
import { signatureFields, type SigningKeys } from '../signing/webhook-signature.js';

/** Of the response, for people. */
const KEPT_BYTES = 1_024;
const USER_AGENT = `Trailgate-Webhooks/${VERSION}`;
const NUL = /\0/g;

/** What is sent, and where to. */
export interface WebhookToSend {
  /** As its endpoint has it now. */
  readonly url: string;
  /** `evt_…` */
  readonly eventId: string;
  /** `payloadOf` the event. */
  readonly body: Buffer;
  readonly keys: SigningKeys;
  /** For all of the attempt. */
  readonly timeoutMs: number;
  /** Of the request that the event comes from. */
  readonly traceparent?: string | undefined;
}

/** Payload of an event for its receiver. */
export interface EventToSend {
  /** `evt_…`, which is the `webhook-id`, too. */
  readonly id: string;
  readonly type: string;
  readonly accountId: string;
  readonly occurredAtMs: number;
  /** JSON as it was accepted. */
  readonly data: string;
}

/**
 * Builds the body. `data` is put in as it is: read and written again, a number of more digits than JavaScript has, or
 * two members of one name, would come out as something else than was handed in.
 */
export function payloadOf({ id, type, accountId, occurredAtMs, data }: EventToSend): Buffer {
  const head = JSON.stringify({ id, type, timestamp: formatUtc(occurredAtMs), account_id: accountId });
  return Buffer.from(`${head.slice(0, -1)},"data":${data}}`);
}

/** What came of an attempt. */
export interface AttemptMade extends AttemptResult {
  readonly atMs: number;
  readonly durationMs: number;
  readonly statusCode: number | null;
  /** Null where a response came; else the reason, with a code of the system's where there is one. */
  readonly error: string | null;
  /** Where the response came from. */
  readonly address: string | null;
  /** Its beginning as text. */
  readonly responseBody: string | null;
}

/** No attempt: this process had no connection to give. It is nobody's failure but ours, and is tried again soon. */
export interface AttemptPutOff {
  readonly shortOf: OwnResource;
}

/** What attempts are made with. */
export interface WebhookSenderParts {
  readonly connections: GuardedConnections;
  /** Asked at each attempt: the configuration may have changed. */
  readonly rules: () => OutboundRules;
  readonly clock: Clock;
}

/** WebhookSender makes attempts. */
export class WebhookSender {
  constructor(private readonly parts: WebhookSenderParts) {}

  /** Makes one. Never rejects, unless there is no key to sign with. */
  async attempt(webhook: WebhookToSend): Promise<AttemptMade | AttemptPutOff> {
    const atMs = this.parts.clock.now();
    const signature = signatureFields(webhook.eventId, atMs, webhook.body, webhook.keys);
    const startMs = performance.now();
    try {
      const response = await this.send(webhook, { ...signature });
      return this.made(atMs, startMs, response, undefined);
    } catch (error) {
      const shortOf = shortageIn(error);
      if (shortOf === undefined) return this.made(atMs, startMs, undefined, error);
      SHORTAGES.note(shortOf, 'webhook', (error as OutboundFailed).code);
      return { shortOf };
    }
  }

  private async send(webhook: WebhookToSend, signature: Record<string, string>): Promise<GuardedResponse> {
    const { connections } = this.parts;
    const rules = this.parts.rules();
    const { url, body, timeoutMs, traceparent } = webhook;
    const headers = {
      'content-type': 'application/json',
      'user-agent': USER_AGENT,
      'accept-encoding': 'identity',
      ...signature,
      ...(traceparent === undefined ? {} : { traceparent }),
    };
    const destination = parseDestination(url, rules);
    return await sendGuarded(
      { destination, method: 'POST', headers, body, timeoutMs, keepBytes: KEPT_BYTES },
      { ...connections.options, rules, connections },
    );
  }

  private made(atMs: number, startMs: number, response: GuardedResponse | undefined, error: unknown): AttemptMade {
    const durationMs = Math.round(performance.now() - startMs);
    const result = attemptResult(response === undefined ? undefined : judgedPart(response), this.parts.clock.now());
    const outcome = response === undefined ? outcomeOf(error) : result.outcome;
    METRICS.webhookAttempts.series(outcome).inc();
    METRICS.webhookAttemptDuration.series(outcome).observe(durationMs / 1_000);
    if (error instanceof OutboundRefused) METRICS.webhookRefusedDestinations.series(error.reason).inc();
    return {
      ...result,
      atMs,
      durationMs,
      statusCode: response?.statusCode ?? null,
      error: response === undefined ? errorText(error) : null,
      address: response?.address ?? null,
      responseBody: response === undefined ? null : textOf(response.body),
    };
  }
}

function judgedPart({ statusCode, headers }: GuardedResponse): Parameters<typeof attemptResult>[0] {
  const field = headers['webhook-delivery'];
  return { statusCode, retryAfter: headers['retry-after'], webhookDelivery: Array.isArray(field) ? field[0] : field };
}

/** UTF-8, without a character that was cut off at the end, and without what PostgreSQL has no place for. */
function textOf(body: Buffer): string {
  return new TextDecoder().decode(body, { stream: body.length >= KEPT_BYTES }).replaceAll(NUL, '\uFFFD');
}

/** Without the address that a name led to: whoever chose the name need not learn what we are told inside. */
function errorText(error: unknown): string {
  if (error instanceof OutboundRefused) return `address_refused (${error.reason})`;
  return error instanceof Error ? error.message : String(error);
}

/** What we lacked ourselves, where that is why nothing was sent. */
function shortageIn(error: unknown): OwnResource | undefined {
  if (!(error instanceof OutboundFailed)) return undefined;
  const isAboutName = error.reason === 'name_not_found' || error.reason === 'name_unresolved';
  // A resolver without a socket says that there is no such name.
  if (isAboutName) return SHORTAGES.isOutOfDescriptors ? 'file_descriptors' : undefined;
  return resourceOf(error.code);
}

const OUTCOME_OF: Readonly<Record<FailureReason, WebhookAttemptOutcome>> = {
  name_not_found: 'dns',
  name_unresolved: 'dns',
  connect_failed: 'connect',
  connect_timeout: 'timeout',
  tls_failed: 'tls',
  connection_closed: 'failed',
  response_timeout: 'timeout',
  malformed_response: 'failed',
  head_too_large: 'failed',
};

function outcomeOf(error: unknown): WebhookAttemptOutcome {
  if (error instanceof OutboundRefused) return 'refused';
  return error instanceof OutboundFailed ? OUTCOME_OF[error.reason] : 'failed';
}
