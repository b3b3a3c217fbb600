/**
 * Processes a request to the MCP server. Checks host and origin, key, body, message and method, in this order. The
 * first failure ends the request. Failures before the body is parsed, exceeded rate limits and unexpected errors are
 * HTTP problems. Other failures are JSON-RPC errors.
 */
import type { EndpointRequest } from '../../admission/mounted/endpoint-request.js';
import type { RequestSource } from '../../admission/mounted/request-source.js';
import type { CachedKey } from '../../keys/cached-key.js';
import type { McpMethod, McpOutcome } from '../../platform/metrics/mcp-metrics.js';
import type { ResultReceiver } from '../../platform/callbacks.js';
import { Problem } from '../../platform/problems/errors.js';
import type { Method, MethodCall, ServedMethods } from '../method-call.js';
import { countCall } from '../mcp-metrics.js';
import type { OpenedParts } from '../mcp-parts.js';
import { serverInfo } from '../methods/server-words.js';
import { eraOf } from '../protocol/era.js';
import { mcpFieldsOf, type McpFields } from '../protocol/mcp-fields.js';
import { idIn, isReply, messageIn, type RpcMessage, type RpcRequest } from '../protocol/message.js';
import { parseJson } from '../protocol/parse-json.js';
import { errorText, resultText, type ResultType } from '../protocol/response-text.js';
import { methodNotFound, RpcError } from '../protocol/rpc-error.js';
import type { Era } from '../protocol/versions.js';
import { callerProblem } from './allowed-callers.js';
import type { FreeCalls } from './free-calls.js';
import { letPageRead, respondToPreflight } from './pages.js';
import { readBody } from './read-body.js';
import { respondAccepted, respondJson } from './json-responses.js';

/** Source of the request for its log line. Replaced if the request calls a tool. */
const SOURCE: RequestSource = { name: 'mcp', tool: '', isCarrier: false };

const NOT_POST = new Problem('method_not_allowed', {
  detail: 'Messages of the Model Context Protocol are sent by POST; there are no sessions, and no stream by GET.',
  headers: ['Allow', 'POST'],
});
const NOT_JSON = new Problem('unsupported_media_type', {
  detail: 'Send messages as "Content-Type: application/json".',
});
const NOT_ACCEPTABLE = new Problem('not_acceptable', {
  detail:
    'Responses are application/json, and streams text/event-stream: say "Accept: application/json, text/event-stream".',
});
const USUAL_TYPE = 'application/json';
const USUAL_ACCEPT = 'application/json, text/event-stream';
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i;
const ACCEPTS_JSON = /\bapplication\/(?:json|\*)|\*\/\*/i;

/** McpRequest processes one request to the MCP server and sends its response. */
export class McpRequest implements MethodCall, ResultReceiver<CachedKey | Problem> {
  key!: CachedKey;
  message!: RpcRequest;
  era: Era = 'legacy';
  /** Requested method, for the metrics. Undefined until the message is parsed, or if the method does not exist. */
  private method: Method | undefined;
  private isNotification = false;
  private fields!: McpFields;
  /** Body that arrived after the head. Undefined until it has arrived, and if the body arrived with the head. */
  private lateBody: Buffer | undefined;

  constructor(
    readonly parts: OpenedParts,
    private readonly methods: ServedMethods,
    readonly request: EndpointRequest,
    private readonly freeCalls: FreeCalls,
  ) {}

  /** Processes the request up to its response. Never throws. */
  begin(): void {
    this.guard(() => {
      const { request, parts } = this;
      request.source = SOURCE;
      const { message } = request;
      const { headers } = message;
      const callerError = callerProblem(headers, parts.settings());
      if (callerError !== undefined) return this.respondWithProblem(callerError);
      letPageRead(request);
      if (message.method === 'OPTIONS' && headers.origin !== undefined) return respondToPreflight(request);
      if (message.method !== 'POST') return this.respondWithProblem(NOT_POST);
      this.checkKey();
    });
  }

  /** Continues with the late result of the key step. */
  onResult(late: CachedKey | Problem): void {
    this.guard(() => this.onKey(this.parts.keyStep.conclude(this.request, late)));
  }

  onError(error: unknown): void {
    this.respondWithProblem(error);
  }

  respondWithResult(members: string, resultType?: ResultType): void {
    const { request, era, message, method } = this;
    const text = resultText(era, message.id, members, serverInfo(this), method?.isCacheable === true, resultType);
    respondJson(request, 200, text);
  }

  respondWithError(error: RpcError): void {
    this.countOutcome('protocol_error');
    // Legacy clients expect a 200 for a JSON-RPC error if their message could be parsed.
    respondJson(this.request, this.era === 'legacy' ? 200 : error.status, errorText(error, this.message.id));
  }

  respondWithProblem(reason: unknown): void {
    this.countOutcome('refused');
    this.parts.host.refuse(this.request, reason);
  }

  async countFree(): Promise<Problem | undefined> {
    try {
      const counted = await this.freeCalls.count(this.key);
      if (counted instanceof Problem) return counted;
      await this.parts.quotaReport.addTo(this.request, counted);
      return undefined;
    } catch (error) {
      return new Problem('quota_unavailable', { cause: error });
    }
  }

  private checkKey(): void {
    const mayPass = this.parts.keyStep.check(this.request, this);
    if (mayPass !== undefined) this.onKey(mayPass);
  }

  /**
   * Continues after the key step. Checks the head after the first check of the key. After the second check, parses the
   * body that has arrived.
   */
  private onKey(mayPass: boolean): void {
    const { request, parts, lateBody } = this;
    // The client has disconnected, and the gateway has already recorded the end of the request.
    if (request.response.isGone) return;
    const { key } = request;
    if (!mayPass || key === undefined) return parts.host.refuse(request, request.refusal);
    this.key = key;
    if (lateBody === undefined) this.onHead();
    else this.onText(lateBody);
  }

  private onHead(): void {
    const { request } = this;
    this.fields = mcpFieldsOf(request.message);
    const { 'content-type': type = '', accept = USUAL_ACCEPT } = this.fields;
    if (type !== USUAL_TYPE && !JSON_TYPE.test(type)) return this.respondWithProblem(NOT_JSON);
    if (accept !== USUAL_ACCEPT && !ACCEPTS_JSON.test(accept)) return this.respondWithProblem(NOT_ACCEPTABLE);
    readBody(request, (body) => this.guard(() => this.onBody(body)));
  }

  private onBody(body: Buffer | Problem): void {
    if (!Buffer.isBuffer(body)) return this.respondWithProblem(body);
    const { request } = this;
    request.bytesIn = body.length;
    if (request.message.body !== undefined) return this.onText(body);
    // Check the key again, because reading the body may have taken long.
    this.lateBody = body;
    this.checkKey();
  }

  private onText(body: Buffer): void {
    const parsed = parseJson(body);
    if (parsed instanceof RpcError) return this.failUnparsed(parsed, undefined);
    if (this.isReply(parsed.value)) return this.runFree(() => respondAccepted(this.request));
    const message = messageIn(parsed.value);
    if (message instanceof RpcError) return this.failUnparsed(message, parsed.value);
    const era = eraOf(this.fields, message);
    if (era instanceof RpcError) return this.failUnparsed(era, parsed.value);
    this.era = era;
    this.onMessage(message);
  }

  /**
   * Passes a client's reply to `takeReply` if this server sends requests. Returns false if the body is not a reply to a
   * request of the server.
   */
  private isReply(body: unknown): boolean {
    return this.methods.takeReply !== undefined && isReply(body) && this.methods.takeReply(body);
  }

  private onMessage(message: RpcMessage): void {
    if (message.id === undefined) {
      this.isNotification = true;
      return this.runFree(() => respondAccepted(this.request));
    }
    this.message = message;
    const method = this.methods.byName.get(message.method);
    if (method === undefined || (method.era !== undefined && method.era !== this.era)) {
      return this.respondWithError(methodNotFound(message.method));
    }
    this.method = method;
    if (method.serve !== undefined) return method.serve(this);
    this.runFree(async () => {
      const result = await method.computeResult?.(this);
      if (result instanceof RpcError) this.respondWithError(result);
      else {
        this.countOutcome('success');
        this.respondWithResult(result ?? '');
      }
    });
  }

  /**
   * Counts a free call. Calls `run` if the rate limit allows the call, otherwise refuses the request. Errors of `run`
   * refuse the request, too.
   */
  private runFree(run: () => void | Promise<void>): void {
    void this.countFree()
      .then((problem) => (problem === undefined ? run() : this.respondWithProblem(problem)))
      .catch((error: unknown) => this.respondWithProblem(error));
  }

  /** Responds with the error of a message that is invalid, or whose metadata is. */
  private failUnparsed(error: RpcError, body: unknown): void {
    this.countOutcome('protocol_error');
    respondJson(this.request, error.status, errorText(error, idIn(body)));
  }

  private countOutcome(outcome: McpOutcome): void {
    countCall(
      this.isNotification ? 'notification' : ((this.method?.name as McpMethod | undefined) ?? 'other'),
      outcome,
    );
  }

  /** Calls `run`, and refuses the request if `run` throws. */
  private guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.respondWithProblem(error);
    }
  }
}
